import { type Candidate, type Endpoint, type OwnNode } from "./endpoints.ts";

/** `cluster`: all endpoints that the Node should use; `local`: only those on the Node. */
export type Scope = "cluster" | "local";

/** The endpoints of a port. */
export interface PortEndpoints {
    /** Those that new connections go to. */
    readonly endpoints: Readonly<Record<Scope, readonly Endpoint[]>>;
    /** Those, and others that serve: they terminate beside ready ones, or hints are for others. Connections stay there. */
    readonly serving: readonly Endpoint[];
}

/** The candidates that are chosen in each scope. */
export interface Choice extends Readonly<Record<Scope, readonly Candidate[]>> {
    /** Which hints restrict the scope `cluster`; undefined: none. */
    readonly hints: "node" | "zone" | undefined;
}

/**
 * Chooses among the endpoints of a port as Kubernetes does (kube-proxy's CategorizeEndpoints), for each scope by itself:
 * the ready ones, or if there is none those that serve while they terminate. In scope `cluster` hints restrict the ready
 * ones: to those for the own Node, if all have hints for Nodes and `nodeHints` is set; else to those for its zone, if all
 * have hints for zones; but never to none. The EndpointSlice controller writes `trafficDistribution` of a Service as
 * hints, so the field itself is not read. `cluster` is empty only if no endpoint at all can be used.
 */
export function choose(
    candidates: readonly Candidate[],
    { name, zone }: Pick<OwnNode, "name" | "zone">,
    nodeHints: boolean,
): Choice {
    const ready = candidates.filter((candidate) => candidate.ready);
    const forNode = nodeHints ? hintedFor(ready, name, ({ forNodes }) => forNodes) : undefined;
    const forZone = forNode === undefined ? hintedFor(ready, zone, ({ forZones }) => forZones) : undefined;
    return {
        hints: forNode !== undefined ? "node" : forZone !== undefined ? "zone" : undefined,
        cluster: forNode ?? forZone ?? readyOrAll(candidates),
        local: readyOrAll(candidates.filter((candidate) => candidate.local)),
    };
}

/**
 * Chooses as `choose`, and returns endpoints without what the choice depended on, in the order of the candidates. A scope is
 * empty if no endpoint can be used in it; `serving` are all candidates.
 */
export function chooseEndpoints(
    candidates: readonly Candidate[],
    node: Pick<OwnNode, "name" | "zone">,
    nodeHints: boolean,
): PortEndpoints {
    const chosen = choose(candidates, node, nodeHints);
    const cluster = plain(chosen.cluster);
    return {
        endpoints: { cluster, local: plain(chosen.local) },
        // nearly always all of them, which take memory once
        serving: cluster.length === candidates.length ? cluster : plain(candidates),
    };
}

/** The candidates with a hint for the Node or zone; undefined if one has no hint at all, or none has this one. */
function hintedFor(
    ready: readonly Candidate[],
    place: string | undefined,
    hintsOf: (candidate: Candidate) => Candidate["forNodes"],
): readonly Candidate[] | undefined {
    if (place === undefined || ready.some((candidate) => hintsOf(candidate).length === 0)) return undefined;
    const hinted = ready.filter((candidate) => hintsOf(candidate).some(({ name }) => name === place));
    return hinted.length === 0 ? undefined : hinted;
}

function readyOrAll(candidates: readonly Candidate[]): readonly Candidate[] {
    const ready = candidates.filter((candidate) => candidate.ready);
    return ready.length === 0 ? candidates : ready;
}

function plain(candidates: readonly Candidate[]): readonly Endpoint[] {
    return candidates.map(({ ip, port, nodeName, local, host, ready }) => ({ ip, port, nodeName, local, host, ready }));
}
