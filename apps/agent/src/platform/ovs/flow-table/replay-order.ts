import { Category } from "@antrea/flows";
import type { Flow } from "@antrea/openflow";
import { stamped, wantedFlows, type Owned } from "./owned-flows.ts";

/** OVS applies a bundle in one turn of its main loop: what is sent in one at most when everything is replayed. */
const bundleSize = 2_000;

/**
 * In which order a replay brings the flows of owners into OVS, by category; all others come last. What drops comes
 * before what it must drop: the pipeline, then policies in one bundle as long as OVS takes it, then Services, then Pods.
 */
const phases: readonly { readonly category: number | undefined; readonly bundleSize: number }[] = [
    { category: Category.default, bundleSize },
    { category: Category.networkPolicy, bundleSize: 64_000 },
    { category: Category.service, bundleSize },
    { category: Category.podConnectivity, bundleSize },
    { category: undefined, bundleSize },
];

/**
 * All flows of the owners in bundles, each of which OVS applies at once; what an owner lets through comes together with
 * what guards it, unless it is too much for one. Made one by one: a source makes its flows when their turn comes.
 */
export function* replayBundles(owners: readonly Owned[], round: number): Generator<readonly Flow[]> {
    const named = new Set(phases.map(({ category }) => category));
    let bundle: Flow[] = [];
    let limit = bundleSize;
    for (const phase of phases) {
        const ofPhase = owners.filter(({ wanted }) =>
            phase.category === undefined ? !named.has(wanted.category) : wanted.category === phase.category,
        );
        // A phase of another size has bundles of its own.
        if (ofPhase.length > 0 && phase.bundleSize !== limit) {
            if (bundle.length > 0) yield bundle;
            [bundle, limit] = [[], phase.bundleSize];
        }
        for (const owned of ofPhase) {
            const flows = stamped(owned, wantedFlows(owned.wanted), round);
            for (let start = 0; start < flows.length; start += limit) {
                const part = flows.slice(start, start + limit);
                if (bundle.length > 0 && bundle.length + part.length > limit) {
                    yield bundle;
                    bundle = [];
                }
                for (const flow of part) bundle.push(flow);
            }
        }
    }
    if (bundle.length > 0) yield bundle;
}
