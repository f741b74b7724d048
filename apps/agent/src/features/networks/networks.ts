import { orAborted } from "@antrea/async";
import { CniCallError, routeDestination } from "@antrea/cni";
import { AntreaError, isAborted, messageOf } from "@antrea/errors";
import type { Family } from "@antrea/ip";
import { pods, referenceTo, type ApiClient, type EventInput, type Pod } from "@antrea/kube";
import {
    keysText,
    networksAnnotation,
    NetworkError,
    parseNetwork,
    parseSelections,
    type ForeignNetwork,
    type NetworkSelection,
    type OwnNetwork,
} from "@antrea/networks";
import type { Logger } from "@antrea/runtime";
import {
    eventNote,
    type AddRequest,
    type DeviceDemand,
    type FoundDevice,
    type NetworkCall,
    type PlannedNetwork,
} from "../../platform/pod-interfaces/index.ts";
import { isPodOf } from "../../platform/pod-object.ts";
import { annotationHash } from "./annotation-hash.ts";
import { type Definitions } from "./definitions.ts";
import { NetworksError, untilApiAnswers } from "./errors.ts";
import type { NetworkMetrics } from "./metrics.ts";
import { judge, interfaceRequestOf, type Surroundings, type InterfaceRequest } from "./judge.ts";

/** Dependencies of Networks. */
export interface NetworksComponents {
    readonly api: Pick<ApiClient, "find">;
    readonly definitions: Pick<Definitions, "find">;
    /** Whether the container runtime calls this plugin first, so that no meta plugin attaches networks. */
    readonly isCalledFirst: () => Promise<boolean>;
    /** What networks are judged against, now. Rejects if the IPPools are needed and not known in time. */
    readonly surroundings: (needsPools: boolean, signal: AbortSignal) => Promise<Surroundings>;
    /** A virtual function for each demand, in their order; rejects with the error that ADD returns. */
    readonly findDevices: (
        pod: AddRequest,
        demands: readonly DeviceDemand[],
        signal: AbortSignal,
    ) => Promise<readonly FoundDevice[]>;
    /** The Pod `namespace/name` as the watch of this Node's Pods last delivered it; undefined if it has not. */
    readonly known: (key: string) => Pod | undefined;
    /** Records an event; never blocks, never throws. */
    readonly record: (event: EventInput) => void;
    readonly metrics: NetworkMetrics;
    readonly logger: Logger;
}

const askLimitMs = 10_000;

/** What is requested of a network of ours for one interface. */
interface AskedInterface extends InterfaceRequest {
    readonly network: OwnNetwork;
}

interface Requested {
    readonly selection: NetworkSelection;
    readonly network: OwnNetwork | ForeignNetwork;
}

/**
 * The networks that a Pod requests by its annotation: found, read and judged before anything is changed. All of ours are
 * attached, or the Pod does not start; those of another type are left to others. A refusal is one event on the Pod.
 */
export class Networks {
    readonly #components: NetworksComponents;
    readonly #hashes = new WeakMap<AddRequest, string>();

    constructor(components: NetworksComponents) {
        this.#components = components;
    }

    /** The fingerprint of the annotation from which the request was planned; undefined if none was read. */
    hashOf(request: AddRequest): string | undefined {
        return this.#hashes.get(request);
    }

    /**
     * The interfaces that the Pod is to get; empty if it requests none, or a meta plugin attaches them. Rejects with
     * NetworkError, NetworksError or CniCallError of the first rule that is broken, or on abort with the signal's reason.
     */
    async plan(request: AddRequest, signal: AbortSignal): Promise<readonly PlannedNetwork[]> {
        if (!(await this.#components.isCalledFirst())) return [];
        const pod = await this.#pod(request, signal);
        if (pod === undefined) {
            const { podNamespace, podName, podUid } = request;
            const text = `the networks of Pod ${podNamespace}/${podName} cannot be read: the API server has no Pod of this name with UID ${podUid}; next: wait, as the kubelet tries again; if the Pod was deleted, nothing is to be done`;
            throw new NetworksError("NO_POD", text);
        }
        this.#hashes.set(request, annotationHash(pod));
        const text = pod.metadata?.annotations?.[networksAnnotation] ?? "";
        if (text.trim() === "" || pod.spec?.hostNetwork === true) return [];
        try {
            const selections = parseSelections(text, request.podNamespace);
            const requested = await orAborted(this.#read(selections), signal);
            this.#reportIgnored(pod, requested);
            const own = requested.flatMap(({ network, selection }) =>
                network.kind === "foreign" ? [] : [{ network, selection }],
            );
            if (own.length === 0) return [];
            const surroundings = await this.#surroundings(
                own.map(({ network }) => network),
                signal,
            );
            const asked = own.map(({ network, selection }) => ({ network, ...interfaceRequestOf(selection, network) }));
            const complete = await this.#withDevices(request, asked, signal);
            const planned = complete.map((one) => judgeNamed(one.network, one, surroundings));
            refuseSecondDefaults(planned);
            return planned;
        } catch (error) {
            if (!isAborted(error)) {
                this.#components.metrics.failed(error);
                this.#notAttached(pod, request, error);
            }
            throw error;
        }
    }

    /** The interface of one network that a meta plugin asks for. Rejects as `plan`. */
    async planCall(call: NetworkCall, signal: AbortSignal): Promise<PlannedNetwork> {
        const { asked, ifName, mac, wanted } = call;
        if (asked.ignored.length > 0) void this.#reportIgnoredOf(call);
        try {
            const surroundings = await this.#surroundings([asked], signal);
            const asking = { network: asked, ifName, mac, wanted, defaultGateways: [] };
            const [complete = asking] = await this.#withDevices(call, [asking], signal);
            return judgeNamed(asked, complete, surroundings);
        } catch (error) {
            if (!isAborted(error)) await this.failed(call, error);
            throw error;
        }
    }

    /**
     * Counts a failure, and records on the Pod why its networks were not attached, unless the error has an event of its
     * own there. Never rejects: without the Pod nothing is recorded.
     */
    async failed(
        request: AddRequest,
        error: unknown,
        { hasEvent = false }: { readonly hasEvent?: boolean } = {},
    ): Promise<void> {
        this.#components.metrics.failed(error);
        if (hasEvent) return;
        try {
            const pod = await this.#pod(request, AbortSignal.timeout(askLimitMs));
            if (pod !== undefined) this.#notAttached(pod, request, error);
        } catch (cause) {
            this.#components.logger.debug("no event about networks", { reason: messageOf(cause) });
        }
    }

    /** Undefined if the Pod is gone, or the mirror Pod of a static Pod is not there yet. */
    async #pod(request: AddRequest, signal: AbortSignal): Promise<Pod | undefined> {
        const { podNamespace: namespace, podName: name } = request;
        // Without the API server, sandboxes of running Pods can be made again.
        const known = this.#components.known(`${namespace}/${name}`);
        if (known !== undefined && request.podUid !== "" && isPodOf(known, request)) return known;
        try {
            const pod = await this.#components.api.find(pods, { namespace, name }, { signal, timeoutMs: askLimitMs });
            return pod !== undefined && isPodOf(pod, request) ? pod : undefined;
        } catch (cause) {
            signal.throwIfAborted();
            const text = `the networks of Pod ${namespace}/${name} cannot be read (${messageOf(cause)})`;
            throw new NetworksError("API_AWAY", `${text}; next: ${untilApiAnswers}`);
        }
    }

    /** What these networks are judged against. Rejects with NetworksError `API_AWAY`, or on abort with the signal's reason. */
    async #surroundings(own: readonly OwnNetwork[], signal: AbortSignal): Promise<Surroundings> {
        const pooled = [...new Set(own.filter(({ ipam }) => ipam !== undefined).map(({ network }) => network))];
        try {
            return await this.#components.surroundings(pooled.length > 0, signal);
        } catch (cause) {
            signal.throwIfAborted();
            // The message of an error about the IPPools has its cause.
            const reason = cause instanceof AntreaError ? cause.message : messageOf(cause);
            const text = `network ${pooled.join(", ")}: the IPPools are not known yet (${reason})`;
            throw new NetworksError("API_AWAY", `${text}; next: ${untilApiAnswers}`);
        }
    }

    /** The requests, those of networks of type sriov with their devices. Rejects with the error that ADD returns. */
    async #withDevices(
        pod: AddRequest,
        asked: readonly AskedInterface[],
        signal: AbortSignal,
    ): Promise<readonly AskedInterface[]> {
        const ofFunctions = asked.filter(({ network }) => network.kind === "sriov");
        if (ofFunctions.length === 0) return asked;
        const demands = ofFunctions.map(({ ifName, network: { deviceId, network, resourceName } }) => ({
            network,
            ifName,
            resourceName,
            deviceId,
        }));
        const found = await this.#components.findDevices(pod, demands, signal);
        return asked.map((one) => {
            const device = found[ofFunctions.indexOf(one)];
            return device === undefined ? one : { ...one, device };
        });
    }

    /** The selections with their networks, each of which is read once. Rejects with the error of the first that fails. */
    async #read(selections: readonly NetworkSelection[]): Promise<readonly Requested[]> {
        const networks = new Map<string, Promise<OwnNetwork | ForeignNetwork>>();
        return inOrder(
            selections.map(async (selection) => {
                const { namespace, name } = selection;
                const key = `${namespace}/${name}`;
                const network = networks.get(key) ?? this.#networkOf(namespace, name);
                networks.set(key, network);
                return { selection, network: await network };
            }),
        );
    }

    async #networkOf(namespace: string, name: string): Promise<OwnNetwork | ForeignNetwork> {
        const { metadata, spec } = await this.#components.definitions.find(namespace, name);
        return parseNetwork({ namespace, name, annotations: metadata?.annotations ?? {}, config: spec?.config });
    }

    /** What has no effect is reported once for each ADD. */
    #reportIgnored(pod: Pod, requested: readonly Requested[]): void {
        const foreign = requested.flatMap(({ network }) => (network.kind === "foreign" ? [network] : []));
        if (foreign.length > 0) {
            const texts = foreign.map(({ network, type }) => `${network} (type "${type}")`);
            this.#event(
                pod,
                "Warning",
                "NetworksOfOthers",
                `networks of other plugins are not attached by Antrea: ${texts.join(", ")}; install a meta plugin such as Multus for them, or take them out of the annotation`,
            );
        }
        this.#reportKeys(
            pod,
            requested.flatMap(({ network }) => (network.kind === "foreign" ? [] : [network])),
        );
        const ignored = requested.flatMap(({ selection: { name, ignored: keys } }) =>
            keys.map((key) => `${name}: ${key}`),
        );
        if (ignored.length === 0) return;
        this.#event(
            pod,
            "Warning",
            "NetworkKeysIgnored",
            `keys in the annotation ${networksAnnotation} have no effect: ${ignored.join(", ")}`,
        );
    }

    /** As `plan` does, for a call of a meta plugin. Never rejects. */
    async #reportIgnoredOf(call: NetworkCall): Promise<void> {
        try {
            const pod = await this.#pod(call, AbortSignal.timeout(askLimitMs));
            if (pod !== undefined) this.#reportKeys(pod, [call.asked]);
        } catch (cause) {
            this.#components.logger.debug("no event about networks", { reason: messageOf(cause) });
        }
    }

    /** The keys without effect in the configurations of networks. */
    #reportKeys(pod: Pod, networks: readonly OwnNetwork[]): void {
        const ignored = new Map(networks.map(({ network, ignored: keys }) => [network, keys]));
        const texts = [...ignored].flatMap(([network, keys]) =>
            keys.length === 0 ? [] : [`network ${network}: ${keysText(keys)}`],
        );
        if (texts.length === 0) return;
        this.#event(
            pod,
            "Warning",
            "NetworkKeysIgnored",
            `keys without effect in spec.config of NetworkAttachmentDefinitions: ${texts.join("; ")}; next: correct or remove them`,
        );
    }

    #notAttached(pod: Pod, request: AddRequest, error: unknown): void {
        this.#event(pod, "Warning", "NetworksNotAttached", eventNote(error, request));
    }

    #event(pod: Pod, type: "Normal" | "Warning", reason: string, note: string): void {
        const { logger, record } = this.#components;
        const regarding = referenceTo(pods, pod);
        record({ type, reason, action: "AttachNetworks", regarding, note });
        logger.warn("networks of a Pod", { pod: `${pod.metadata?.namespace}/${pod.metadata?.name}`, reason, note });
    }
}

/** A Pod has one default route of each family, by the annotation or by a network. */
function refuseSecondDefaults(planned: readonly PlannedNetwork[]): void {
    const first = new Map<Family, string>();
    for (const { network, defaultGateways, routes } of planned) {
        const defaults = routes.map(routeDestination).filter(({ length }) => length === 0);
        for (const family of new Set([...defaultGateways, ...defaults].map((one) => one.family))) {
            const other = first.get(family);
            if (other !== undefined) {
                throw new NetworksError(
                    "BAD_REQUEST",
                    `network ${network}: a second default route of IPv${family}, after that of network ${other}; next: keep one of default-route in the annotation and default routes in ipam.routes`,
                );
            }
            first.set(family, network);
        }
    }
}

/** All results; rejects with the failure of the first that failed, whichever failed first in time. */
async function inOrder<T>(works: readonly Promise<T>[]): Promise<readonly T[]> {
    await Promise.allSettled(works);
    return Promise.all(works);
}

/** Errors of the parsers of CNI do not name the network. */
function judgeNamed(network: OwnNetwork, request: InterfaceRequest, surroundings: Surroundings): PlannedNetwork {
    try {
        return judge(network, request, surroundings);
    } catch (error) {
        if (!(error instanceof CniCallError)) throw error;
        throw new NetworkError("INVALID_NETWORK", "caller", `network ${network.network}: ${error.message}`, {
            details: { network: network.network },
        });
    }
}
