import { CniCallError, shown } from "@antrea/cni";
import { AntreaError } from "@antrea/errors";
import { cniErrorCode } from "./cni-error-code.ts";
import type { CniBackend, AddedInterface } from "../features/cni-server/index.ts";
import { CheckError, type PodNetwork } from "../features/pod-network/index.ts";
import type { Readiness } from "../platform/readiness.ts";
import { type Attachment, attachmentKey, isOfNetwork, type PodInterface } from "../platform/pod-interfaces/index.ts";

export interface CniBackendComponents {
    readonly readiness: Readiness;
    /** The Pod network, once it is built; ADD waits for readiness, and so for this. */
    readonly network: () => PodNetwork | undefined;
    readonly check: (
        known: PodInterface,
        input: Pick<Parameters<CniBackend["check"]>[0], "netns" | "previous">,
    ) => Promise<void>;
    /** The path here of a network namespace that the runtime names. */
    readonly netnsPath: (path: string) => string;
    /** Whether a path here stands for the network namespace of the Node itself. */
    readonly isNodeNetns: (path: string) => boolean;
    /** The network of this Node's CNI configuration: that of interfaces whose record names none. */
    readonly networkName: string;
    /** The live UID of a Pod, for runtimes that do not send K8S_POD_UID. */
    readonly podUid: (namespace: string, name: string) => Promise<string>;
}

class CniBackendError extends AntreaError<"NOT_READY"> {}

/** The backend and how it is told that the Pod network is there. */
export interface PodCniBackend extends CniBackend {
    /** Carries out the DELs that came before, also if no further call comes. */
    networkBuilt(): void;
}

/**
 * Serves the CNI calls from the Pod network. A DEL that comes before it is built, because OVS or the API server is away,
 * is answered at once and carried out later: DEL never fails because of what is away.
 */
export function createCniBackend(components: CniBackendComponents): PodCniBackend {
    const { readiness } = components;
    // Until they are made good the records, and so the addresses, stay.
    const early = new Map<string, Attachment>();
    const current = (): PodNetwork | undefined => {
        const built = components.network();
        if (built === undefined) return undefined;
        const deletes = [...early.values()];
        early.clear();
        // Each leaves its tombstone at once, so that no call that follows overtakes it, and rejects never.
        for (const { containerId, ifName } of deletes) void built.delete(containerId, ifName);
        return built;
    };
    const network = (): PodNetwork => {
        const built = current();
        if (built !== undefined) return built;
        throw new CniBackendError("NOT_READY", "timeout", readiness.missing() ?? "the Pod network is being built");
    };
    const podNetns = ({ containerId, netns }: Attachment & { readonly netns: string }, next = ""): string => {
        const path = components.netnsPath(netns);
        if (!components.isNodeNetns(path)) return path;
        throw new CniCallError(
            "INVALID_ENVIRONMENT_VARIABLES",
            "caller",
            `CNI_NETNS: ${shown(netns)} is the network namespace of the Node itself, not of container ${containerId}; the process it names may have ended, and a process of the Node have its number now${next}`,
        );
    };
    return {
        async add(request, signal): Promise<AddedInterface> {
            const podUid =
                request.podUid === "" ? await components.podUid(request.podNamespace, request.podName) : request.podUid;
            const netns = podNetns(
                request,
                `; next: let the runtime make the sandbox of Pod ${request.podNamespace}/${request.podName} anew`,
            );
            const record = await network().add({ ...request, podUid, netns }, signal);
            return { ...record, netns: request.netns };
        },
        async delete(attachment): Promise<void> {
            const built = current();
            if (built === undefined) early.set(attachmentKey(attachment), attachment);
            else await built.delete(attachment.containerId, attachment.ifName);
        },
        async check(request): Promise<void> {
            const netns = podNetns(request);
            const known = network().find(request.containerId, request.ifName);
            if (known === undefined) {
                throw new CheckError(
                    "NO_RECORD",
                    "environment",
                    `container ${request.containerId} has no interface ${request.ifName} on this Node`,
                );
            }
            await components.check(known, { ...request, netns });
        },
        async collect(name, valid, receivedAt): Promise<number> {
            const keep = new Set(valid.map(attachmentKey));
            // What was wired after the call came in cannot be in its list and is no garbage.
            const garbage = network()
                .interfaces()
                // Of what was rebuilt without any word of its network nobody knows whose garbage it may be: a Pod that
                // lives keeps its network, and garbage goes when its link does.
                .filter(({ record }) => isOfNetwork(record.network ?? components.networkName, name) === true)
                .filter(({ record, addedAt }) => addedAt < receivedAt && !keep.has(attachmentKey(record)));
            await Promise.all(garbage.map(({ record }) => network().delete(record.containerId, record.ifName)));
            return garbage.length;
        },
        networkBuilt: () => void current(),
        notReady: () => readiness.missing(),
        ready: (signal) => readiness.ready(signal),
        errorCode: cniErrorCode,
    };
}
