import { ipPools, type IpAllocation, type IpPool } from "@antrea/crd";
import { type Refusal } from "@antrea/ipam";
import { type Source } from "../input-files.ts";
import { fieldsOf, objectsOf, textOf, type Fields } from "../manifest-objects.ts";
import { planPool, plannedPool } from "../plan/index.ts";
import { PoolSet } from "../pools/index.ts";
import { oneAnOrdinal, reservationsOf, type Reservation } from "./reservations.ts";
import { asGiven, withoutSubnetInfo } from "./subnet-info.ts";

/**
 * The result of converting the IPPools of files. `warnings` are sentences. The reservations are to be created before
 * the pools, so that no other Pod gets their addresses.
 */
export interface Conversion {
    /** In the order of the files. */
    readonly pools: readonly IpPool[];
    /** The reservations of the pools for StatefulSet ordinals. */
    readonly reservations: readonly IpAllocation[];
    readonly refused: readonly RefusedPool[];
    readonly warnings: readonly string[];
    /** Objects of other kinds, such as `ExternalIPPool a of crd.antrea.io/v1beta1`. */
    readonly ignored: readonly string[];
}

/** A pool that this version rejects, and why; the paths of the refusals are those of the object in the file. */
export interface RefusedPool {
    readonly name: string;
    readonly refusals: readonly Refusal[];
}

const nobody = { namespaces: [], pods: [], workloads: [], networks: [] };
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Reads IPPools of crd.antrea.io/v1beta1 and v1alpha2 and returns them as this version serves them, without the fields
 * that the API server sets. Validates each by the rules of this version, and all against each other; pools that are
 * refused are in `refused` only. Throws CliError `BAD_INPUT` for a file that is not valid YAML.
 */
export function convert(sources: readonly Source[]): Conversion {
    const refused: RefusedPool[] = [];
    const warnings: string[] = [];
    const ignored: string[] = [];
    const stored: Reservation[] = [];
    let known = new PoolSet([], [], []);
    for (const object of sources.flatMap(objectsOf)) {
        const name = textOf(fieldsOf(object.metadata).name);
        if (!isPool(object)) {
            ignored.push(`${textOf(object.kind)} ${name} of ${textOf(object.apiVersion)}`);
            continue;
        }
        const { planned, refusals } = converted(object);
        const plan = planPool({ planned, pools: known, allocations: [], users: nobody });
        const twice =
            known.get(name) === undefined ? [] : [{ path: "metadata.name", value: name, rule: "is there twice" }];
        const errors = [...twice, ...(refusals.length > 0 ? refusals : plan.errors.map((one) => given(object, one)))];
        if (errors.length > 0) {
            refused.push({ name, refusals: unique(errors) });
            continue;
        }
        known = known.with(planned.object);
        warnings.push(...plan.warnings.map((warning) => `IPPool ${name}: ${warning}`));
        const reservations = reservationsOf(name, object.status);
        warnings.push(
            ...reservations.unusable.map((text) => `not kept for its StatefulSet, as it cannot be read: ${text}`),
        );
        stored.push(...reservations.stored);
    }
    // Requires all pools: a gateway of one pool is assigned by none.
    const handedOut = stored.filter(({ ip, pool, ordinal, allocation }) => {
        const entry = known.get(pool);
        const reason = entry && known.exclusions.reason(entry.pool, ip);
        if (reason === undefined) return true;
        warnings.push(`IPPool ${pool}: ${allocation.spec.address} is not kept for ${ordinal}, as it ${reason}`);
        return false;
    });
    const { kept, further } = oneAnOrdinal(handedOut);
    warnings.push(...further);
    const reservations = new Map<string, IpAllocation>();
    for (const { pool, allocation } of kept) {
        const { address } = allocation.spec;
        const other = reservations.get(address);
        if (other === undefined) reservations.set(address, allocation);
        else warnings.push(`IPPool ${pool}: ${address} is kept for a StatefulSet by IPPool ${other.spec.pool} already`);
    }
    const pools = [...known.all].map(({ object }) => object);
    return { pools, reservations: [...reservations.values()], refused, warnings, ignored };
}

function isPool({ apiVersion, kind }: Fields): boolean {
    return kind === ipPools.kind && typeof apiVersion === "string" && apiVersion.startsWith(`${ipPools.group}/`);
}

interface Converted {
    readonly planned: ReturnType<typeof plannedPool>;
    /** Of the object in the file. */
    readonly refusals: readonly Refusal[];
}

function converted(object: Fields): Converted {
    const { apiVersion, kind } = object;
    const { name, labels, annotations } = fieldsOf(object.metadata);
    const { [lastApplied]: _, ...kept } = fieldsOf(annotations);
    const spec = fieldsOf(object.spec);
    const result = isBeta(object) ? withoutSubnetInfo(spec) : { spec, refusals: [] };
    const planned = plannedPool({
        apiVersion: `${ipPools.group}/${ipPools.version}`,
        kind,
        metadata: {
            name,
            ...(labels === undefined ? {} : { labels }),
            ...(Object.keys(kept).length === 0 ? {} : { annotations: kept }),
        },
        spec: result.spec,
    });
    if (!isBeta(object) && apiVersion !== `${ipPools.group}/${ipPools.version}`) {
        const rule = "must be crd.antrea.io/v1beta1 or crd.antrea.io/v1alpha2; write the pool anew";
        return { planned, refusals: [{ path: "apiVersion", value: textOf(apiVersion), rule }] };
    }
    return { planned, refusals: result.refusals };
}

function isBeta({ apiVersion }: Fields): boolean {
    return apiVersion === `${ipPools.group}/v1beta1`;
}

function given(object: Fields, refusal: Refusal): Refusal {
    return isBeta(object) ? asGiven(refusal) : refusal;
}

/** An error in the shared subnetInfo is repeated for each range; keeps one of each. */
function unique(refusals: readonly Refusal[]): readonly Refusal[] {
    return [...new Map(refusals.map((refusal) => [JSON.stringify(refusal), refusal])).values()];
}
