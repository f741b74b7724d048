import { type NetworkAttachmentDefinition } from "@antrea/kube";
import {
    NetworkError,
    ownPartsOf,
    parseNetwork,
    resourceNameAnnotation,
    type NetworkDefinition,
} from "@antrea/networks";
import { type PoolRanges } from "../ip-pools/index.ts";
import { demandsOf, keyWarnings, poolWarnings, vlanWarnings } from "./addresses.ts";

/** Dependencies of NetworkReviewer; the caller starts and closes the cache of pools. */
export interface NetworkReviewComponents {
    readonly pools: PoolRanges & {
        /** The same pools, with the named ones read from the API server. Rejects with KubeError. */
        live(names: Iterable<string>, signal: AbortSignal): Promise<PoolRanges>;
    };
}

/** A request to create (`old` is undefined) or update a network. */
export interface NetworkRequest {
    readonly namespace: string;
    readonly old: NetworkAttachmentDefinition | undefined;
    readonly object: NetworkAttachmentDefinition;
}

/** The result of a review; without `refusal` the network is accepted. Texts are sentences for the client. */
export interface NetworkVerdict {
    readonly refusal?: string;
    readonly warnings: readonly string[];
}

interface Judged extends NetworkVerdict {
    /** The IPPools that the network names. */
    readonly pools: readonly string[];
}

const accepted: Judged = { warnings: [], pools: [] };

/**
 * Validates networks of type antrea, and those of other plugins whose addresses this project gives, by the rules of
 * @antrea/networks; changes nothing. Other networks are accepted unseen.
 */
export class NetworkReviewer {
    readonly #components: NetworkReviewComponents;

    constructor(components: NetworkReviewComponents) {
        this.#components = components;
    }

    /**
     * The verdict on a network; an update of anything but configuration and resource is accepted. Before it warns, it
     * reads the IPPools from the API server. Rejects with KubeError if it cannot decide, also when the signal aborts.
     */
    async review(request: NetworkRequest, signal: AbortSignal): Promise<NetworkVerdict> {
        const definition = definitionOf(request.object, request.namespace);
        if (request.old !== undefined && isSame(definition, definitionOf(request.old, request.namespace)))
            return accepted;
        const { pools } = this.#components;
        const known = judge(definition, pools);
        return known.warnings.length === 0 ? known : judge(definition, await pools.live(known.pools, signal));
    }
}

function definitionOf({ metadata, spec }: NetworkAttachmentDefinition, namespace: string): NetworkDefinition {
    const { name = "", generateName = "" } = metadata ?? {};
    return {
        namespace,
        name: name === "" ? generateName : name,
        annotations: metadata?.annotations ?? {},
        config: spec?.config,
    };
}

function isSame(one: NetworkDefinition, other: NetworkDefinition): boolean {
    const resource = ({ annotations }: NetworkDefinition): string | undefined => annotations[resourceNameAnnotation];
    return one.config === other.config && resource(one) === resource(other);
}

function judge(definition: NetworkDefinition, pools: PoolRanges): Judged {
    try {
        return isOurs(definition) ? judgeOwn(definition, pools) : accepted;
    } catch (error) {
        if (error instanceof NetworkError) return { ...accepted, refusal: error.message };
        throw error;
    }
}

function isOurs({ config = "" }: NetworkDefinition): boolean {
    const parts = ownPartsOf(config);
    // Whose a text is that no plugin can read is not known; most are of a comma too many.
    if (parts === undefined) return config.includes("antrea");
    return parts.hasPlugin || parts.sections.length > 0;
}

function judgeOwn(definition: NetworkDefinition, pools: PoolRanges): Judged {
    const network = parseNetwork(definition);
    const name = network.network;
    const { sections = [] } = ownPartsOf(definition.config ?? "") ?? {};
    const asked = sections.map((section) => demandsOf(section, name, pools));
    const named = [...new Set(asked.flatMap((one) => one.pools))];
    // Of another plugin only the section is known.
    const ignored = network.kind === "foreign" ? asked.flatMap((one) => one.ignored) : network.ignored;
    const warnings = [...keyWarnings(ignored, name), ...poolWarnings(named, name, pools)];
    // The interfaces of other plugins have no VLAN of an IPPool.
    if (network.kind === "vlan" && network.vlan === undefined) {
        warnings.push(...asked.flatMap(({ demands }) => vlanWarnings(demands, name, pools)));
    }
    return { warnings, pools: named };
}
