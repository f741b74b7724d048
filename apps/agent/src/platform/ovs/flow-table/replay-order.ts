import { Category } from "@antrea/flows";
import type { OwnerFlows } from "./add-flows.ts";
import { stamped, wantedFlows, type Owned } from "./owned-flows.ts";

/** OVS applies a bundle in one iteration of its main loop: the maximum per bundle in a replay. */
const bundleSize = 2_000;

/**
 * The order in which a replay sends the flows, by category; all others come last. Flows that drop packets precede the
 * flows for these packets: the pipeline, then policies in one bundle up to the limit of OVS, then Services, then Pods.
 */
const phases: readonly { readonly category: number | undefined; readonly bundleSize: number }[] = [
    { category: Category.default, bundleSize },
    { category: Category.networkPolicy, bundleSize: 64_000 },
    { category: Category.service, bundleSize },
    { category: Category.podConnectivity, bundleSize },
    { category: undefined, bundleSize },
];

/**
 * All flows of the owners, with cookies of this round, in bundles of at most 2,000 (policies: 64,000), to be sent in
 * this order; OVS applies each atomically. The allow flows of an owner are sent together with the flows that restrict
 * them, unless they exceed one bundle. Lazy: a source generates its flows only when they are needed.
 */
export function* replayBundles(owners: readonly Owned[], round: number): Generator<readonly OwnerFlows[]> {
    const named = new Set(phases.map(({ category }) => category));
    let bundle: OwnerFlows[] = [];
    let size = 0;
    let limit = bundleSize;
    for (const phase of phases) {
        const ofPhase = owners.filter(({ wanted }) =>
            phase.category === undefined ? !named.has(wanted.category) : wanted.category === phase.category,
        );
        // A phase with another bundle size has its own bundles.
        if (ofPhase.length > 0 && phase.bundleSize !== limit) {
            if (bundle.length > 0) yield bundle;
            [bundle, size, limit] = [[], 0, phase.bundleSize];
        }
        for (const owned of ofPhase) {
            const flows = stamped(owned, wantedFlows(owned.wanted), round);
            for (let start = 0; start < flows.length; start += limit) {
                const part = flows.slice(start, start + limit);
                if (size > 0 && size + part.length > limit) {
                    yield bundle;
                    [bundle, size] = [[], 0];
                }
                bundle.push({ owned, flows: part });
                size += part.length;
            }
        }
    }
    if (bundle.length > 0) yield bundle;
}
