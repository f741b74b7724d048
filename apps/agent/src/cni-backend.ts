import { AntreaError } from "@antrea/errors";
import type { CniBackend, WiredInterface } from "./cni-server/index.ts";
import { CheckError, type PodInterface, type PodNetwork } from "./pod-network/index.ts";
import type { Readiness } from "./readiness.ts";

export interface CniBackendComponents {
    readonly readiness: Readiness;
    /** The Pod network, once it is built; ADD waits for readiness, and so for this. */
    readonly network: () => PodNetwork | undefined;
    readonly check: (
        known: PodInterface,
        input: Pick<Parameters<CniBackend["check"]>[0], "netns" | "previous">,
    ) => Promise<void>;
    /** The live UID of a Pod, for runtimes that do not send K8S_POD_UID. */
    readonly podUid: (namespace: string, name: string) => Promise<string>;
}

/** Serves the CNI calls from the Pod network. */
export function createCniBackend(components: CniBackendComponents): CniBackend {
    const { readiness } = components;
    const network = (): PodNetwork => {
        const built = components.network();
        if (built !== undefined) return built;
        throw new AntreaError("NOT_READY", "timeout", readiness.missing() ?? "the Pod network is being built");
    };
    return {
        async add(request, signal): Promise<WiredInterface> {
            const podUid =
                request.podUid === "" ? await components.podUid(request.podNamespace, request.podName) : request.podUid;
            const record = await network().add({ ...request, podUid }, signal);
            return { ...record, netns: request.netns };
        },
        delete: ({ containerId, ifName }) => network().delete(containerId, ifName),
        async check(request): Promise<void> {
            const known = network().find(request.containerId, request.ifName);
            if (known === undefined) {
                throw new CheckError(
                    "NO_RECORD",
                    "environment",
                    `container ${request.containerId} has no interface ${request.ifName} on this Node`,
                );
            }
            await components.check(known, request);
        },
        async collect(valid, receivedAt): Promise<number> {
            const keep = new Set(valid.map(({ containerId, ifName }) => `${containerId} ${ifName}`));
            // What was wired after the call came in cannot be in its list and is no garbage.
            const garbage = network()
                .interfaces()
                .filter(
                    ({ record, addedAt }) =>
                        addedAt < receivedAt && !keep.has(`${record.containerId} ${record.ifName}`),
                );
            await Promise.all(garbage.map(({ record }) => network().delete(record.containerId, record.ifName)));
            return garbage.length;
        },
        notReady: () => readiness.missing(),
        ready: (signal) => readiness.ready(signal),
    };
}
