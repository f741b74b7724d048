import { Category } from "@antrea/flows";
import type { Group } from "@antrea/openflow";
import type { OwnerFlows } from "./add-flows.ts";
import { bundleSize } from "./flow-link.ts";
import type { Owned } from "./owned-flows.ts";
import type { Contents } from "./stamp.ts";

/**
 * The order in which a replay sends the flows, by category (undefined: all others). Flows that drop packets precede the
 * flows for these packets: the pipeline, then policies in one bundle up to the limit of OVS, then Services, then Pods. The
 * mark that OVS has all Services comes after all others: a replay that does not end leaves none.
 */
const phases: readonly { readonly category: number | undefined; readonly bundleSize: number }[] = [
    { category: Category.default, bundleSize },
    { category: Category.networkPolicy, bundleSize: 64_000 },
    { category: Category.service, bundleSize },
    { category: Category.podConnectivity, bundleSize },
    { category: undefined, bundleSize },
    { category: Category.servicesComplete, bundleSize },
];

/**
 * The contents of these owners in bundles of at most 2,000 (policies: 64,000), to be sent in this order; OVS applies each
 * atomically and forwards in between. Groups and buckets count as flows do. The groups of an owner precede its flows, and
 * its allow flows are sent together with the flows that restrict them, unless they exceed one bundle. Lazy: `contentsOf`
 * is called when a bundle needs it.
 */
export function* replayBundles(
    owners: readonly Owned[],
    contentsOf: (owned: Owned) => Contents,
): Generator<readonly OwnerFlows[]> {
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
            for (const part of partsOf(contentsOf(owned), limit)) {
                const added = sizeOf(part);
                if (size > 0 && size + added > limit) {
                    yield bundle;
                    [bundle, size] = [[], 0];
                }
                bundle.push({ owned, ...part });
                size += added;
            }
        }
    }
    if (bundle.length > 0) yield bundle;
}

/** Parts of at most `limit`, all groups before the first flow; a group that is larger has its own. */
function* partsOf(contents: Contents, limit: number): Generator<Contents> {
    const { flows, groups } = contents;
    if (sizeOf(contents) <= limit) {
        if (flows.length + groups.length > 0) yield contents;
        return;
    }
    let some: Group[] = [];
    for (const group of groups) {
        if (some.length > 0 && sizeOf({ flows: [], groups: [...some, group] }) > limit) {
            yield { flows: [], groups: some };
            some = [];
        }
        some.push(group);
    }
    if (some.length > 0) yield { flows: [], groups: some };
    for (let start = 0; start < flows.length; start += limit) {
        yield { flows: flows.slice(start, start + limit), groups: [] };
    }
}

function sizeOf({ flows, groups }: Contents): number {
    return groups.reduce((size, { buckets }) => size + 1 + buckets.length, flows.length);
}
