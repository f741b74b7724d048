import { CniCallError, shown } from "@antrea/cni";
import { AntreaError } from "@antrea/errors";
import type { Readiness } from "../../platform/readiness.ts";
import {
    type AddRequest,
    type Attachment,
    attachmentKey,
    isOfNetwork,
    type PodInterface,
    type PodRecord,
} from "../../platform/pod-interfaces/index.ts";
import type { AddressBackend } from "./address-calls.ts";
import type { AddedInterface, CniBackend } from "./calls.ts";
import type { CheckRequest } from "./check-request.ts";
import type { NetworkBackend } from "./network-calls.ts";
import { cniErrorCode, type ErrorCodeOf } from "./error-code.ts";

/** The Pod network, as the CNI calls use it; the contract of each method is that of PodNetwork. */
export interface PodWiring {
    add(request: AddRequest, signal: AbortSignal): Promise<PodRecord>;
    /** Never rejects because of an unavailable dependency. */
    delete(containerId: string, ifName: string): Promise<void>;
    /** Undefined if there is none. */
    find(containerId: string, ifName: string): PodInterface | undefined;
    /** All, also those being wired or removed. */
    interfaces(): readonly PodInterface[];
}

/**
 * Compares a wired interface with the kernel and OVS; rejects with the first difference. `netns` is the path in this
 * container; `previous` has the addresses of `prevResult`, undefined without one.
 */
export type CheckWiring = (known: PodInterface, input: Pick<CheckRequest, "netns" | "previous">) => Promise<void>;

/** Dependencies of createCniBackend. */
export interface CniBackendComponents {
    /** What ADD waits for, and STATUS reports. */
    readonly readiness: Readiness;
    /** The Pod network; undefined until it is built. ADD waits for readiness, which includes that. */
    readonly network: () => PodWiring | undefined;
    readonly check: CheckWiring;
    /** What gives addresses to interfaces of other plugins, as `network`; absent if there are no IPPools. */
    readonly addresses?: (() => AddressBackend | undefined) | undefined;
    /** What makes interfaces on other networks, as `network`; absent if the agent makes none. */
    readonly networks?: (() => NetworkBackend | undefined) | undefined;
    /** The CNI error codes of the errors of `network`, `networks` and `addresses`; the first that is not undefined counts. */
    readonly errorCodes: readonly ErrorCodeOf[];
    /** Maps the path of a network namespace from the runtime to the path in this container. */
    readonly netnsPath: (path: string) => string;
    /** Whether a path in this container refers to the network namespace of the Node itself. */
    readonly isNodeNetns: (path: string) => boolean;
    /** The network name of this Node's CNI configuration, assumed for interfaces whose record has none. */
    readonly networkName: string;
    /**
     * Reads the UID of a Pod from the API server, for runtimes that do not send K8S_POD_UID; its rejection fails the
     * ADD.
     */
    readonly podUid: (namespace: string, name: string) => Promise<string>;
}

/** `NO_RECORD`: CHECK of an interface that is not wired. */
class CniBackendError extends AntreaError<"NOT_READY" | "NO_RECORD"> {}

/** The CNI backend, with the method to call when the Pod network is built. */
export interface PodCniBackend extends CniBackend {
    /**
     * Executes the DELs received before `network` was built, even if no further call is received. To be called once it
     * is.
     */
    networkBuilt(): void;
}

/**
 * Serves the CNI calls with the Pod network. A DEL received before the network is built, because OVS or the API server
 * is unavailable, succeeds at once and is executed later: DEL never fails because of an unavailable dependency. Other
 * calls reject then, with fault `timeout`.
 */
export function createCniBackend(components: CniBackendComponents): PodCniBackend {
    const { readiness } = components;
    // Until they are executed, the records and thus the addresses stay in use.
    const early = new Map<string, Attachment>();
    const addresses = components.addresses && lateAddresses(components, components.addresses);
    const current = (): PodWiring | undefined => {
        const built = components.network();
        if (built === undefined) return undefined;
        const deletes = [...early.values()];
        early.clear();
        // Each sets its tombstone synchronously, so that no later call overtakes it, and never rejects.
        for (const { containerId, ifName } of deletes) void built.delete(containerId, ifName);
        return built;
    };
    const network = (): PodWiring => {
        const built = current();
        if (built !== undefined) return built;
        throw notBuilt(readiness);
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
    /** The request with the Pod's UID, and the path in this container. */
    const resolved = async <Request extends AddRequest>(request: Request): Promise<Request> => {
        const podUid =
            request.podUid === "" ? await components.podUid(request.podNamespace, request.podName) : request.podUid;
        const netns = podNetns(
            request,
            `; next: let the runtime make the sandbox of Pod ${request.podNamespace}/${request.podName} anew`,
        );
        return { ...request, podUid, netns };
    };
    const networks = components.networks && lateNetworks(components, components.networks, { podNetns, resolved });
    return {
        async add(request, signal): Promise<AddedInterface> {
            const record = await network().add(await resolved(request), signal);
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
                throw new CniBackendError(
                    "NO_RECORD",
                    "environment",
                    `container ${request.containerId} has no interface ${request.ifName} on this Node`,
                );
            }
            await components.check(known, { ...request, netns });
        },
        async collect(name, valid, receivedAt): Promise<number> {
            // The list may name eth0 only: further interfaces of a container live and go with it.
            const keep = new Set(valid.map(({ containerId }) => containerId));
            // An interface wired after the call was received cannot be in its list and is not garbage.
            const garbage = network()
                .interfaces()
                // A rebuilt record without a network name cannot be attributed to a network: a running Pod keeps its
                // interface, and garbage is removed with its link.
                .filter(({ record }) => isOfNetwork(record.network ?? components.networkName, name) === true)
                .filter(({ record, addedAt }) => addedAt < receivedAt && !keep.has(record.containerId));
            await Promise.all(garbage.map(({ record }) => network().delete(record.containerId, record.ifName)));
            return garbage.length;
        },
        addresses,
        networks,
        networkBuilt: () => {
            current();
            addresses?.built();
            networks?.built();
        },
        notReady: () => readiness.missing(),
        ready: (signal) => readiness.ready(signal),
        errorCode: (error) => cniErrorCode(error, components.errorCodes),
    };
}

/** `NetworkBackend` until it is built and afterwards; see `createCniBackend`. */
function lateNetworks(
    { readiness }: Pick<CniBackendComponents, "readiness">,
    networks: () => NetworkBackend | undefined,
    paths: {
        readonly podNetns: (request: Attachment & { readonly netns: string }) => string;
        readonly resolved: <Request extends AddRequest>(request: Request) => Promise<Request>;
    },
): NetworkBackend & { built(): void } {
    const early = new EarlyDeletes();
    const built = (): NetworkBackend => {
        const found = networks();
        if (found !== undefined) return found;
        throw notBuilt(readiness);
    };
    return {
        add: async (call, signal) => built().add(await paths.resolved(call), signal),
        refused: (request, error) => networks()?.refused(request, error),
        delete: (attachment) => early.delete(attachment, networks()),
        check: async (request) => built().check({ ...request, netns: paths.podNetns(request) }),
        collect: async (...asked) => built().collect(...asked),
        built: () => early.execute(networks()),
    };
}

/** `AddressBackend` until it is built and afterwards; see `createCniBackend`. */
function lateAddresses(
    { podUid, readiness }: Pick<CniBackendComponents, "podUid" | "readiness">,
    addresses: () => AddressBackend | undefined,
): AddressBackend & { built(): void } {
    const early = new EarlyDeletes();
    const built = (): AddressBackend => {
        const found = addresses();
        if (found !== undefined) return found;
        throw notBuilt(readiness);
    };
    return {
        async add(call, signal) {
            const uid = call.podUid === "" ? await podUid(call.podNamespace, call.podName) : call.podUid;
            return built().add({ ...call, podUid: uid }, signal);
        },
        refused(pod, error) {
            const report = (uid: string): void => addresses()?.refused({ ...pod, podUid: uid }, error);
            if (pod.podUid !== "") return report(pod.podUid);
            void podUid(pod.podNamespace, pod.podName).then(report, () => report(""));
        },
        delete: (attachment) => early.delete(attachment, addresses()),
        check: async (attachment, previous) => built().check(attachment, previous),
        collect: async (...asked) => built().collect(...asked),
        built: () => early.execute(addresses()),
    };
}

/** Executes deletions. */
interface Deletes {
    /** Never rejects because of an unavailable dependency. */
    delete(attachment: Attachment): Promise<void>;
}

/** The DELs received before what executes them is built: until then the addresses stay in use. */
class EarlyDeletes {
    readonly #attachments = new Map<string, Attachment>();

    /** Executes a deletion, or keeps it until `execute`. */
    async delete(attachment: Attachment, target: Deletes | undefined): Promise<void> {
        if (target === undefined) this.#attachments.set(attachmentKey(attachment), attachment);
        else await target.delete(attachment);
    }

    /** Begins what was kept. */
    execute(target: Deletes | undefined): void {
        if (target === undefined) return;
        for (const attachment of this.#attachments.values()) void target.delete(attachment);
        this.#attachments.clear();
    }
}

function notBuilt(readiness: Pick<Readiness, "missing">): CniBackendError {
    return new CniBackendError("NOT_READY", "timeout", readiness.missing() ?? "the Pod network is being built");
}
