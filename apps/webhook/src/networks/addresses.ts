import { CniCallError } from "@antrea/cni";
import { quote, rangeOf } from "@antrea/ip";
import { type Pool } from "@antrea/ipam";
import {
    keysText,
    NetworkError,
    parseIpamSection,
    planAddresses,
    type IpamSection,
    type OwnSection,
    type PlannedDemand,
} from "@antrea/networks";
import { type PoolRanges } from "../ip-pools/index.ts";

/** What an IPAM section asks of IPPools. */
export interface SectionDemands {
    /** The IPPools that it names. */
    readonly pools: readonly string[];
    /** The addresses that a Pod claims which requests none itself. */
    readonly demands: readonly PlannedDemand[];
    /** Its keys that have no effect, for `keysText`: `ipam.range` */
    readonly ignored: readonly string[];
}

/**
 * Parses an IPAM section and finds where its addresses come from, as the agent does. Throws NetworkError `INVALID_NETWORK`
 * with network, field, value and rule.
 *
 * @param network `namespace/name`
 */
export function demandsOf({ path, section }: OwnSection, network: string, pools: PoolRanges): SectionDemands {
    try {
        const ipam = parseIpamSection(section);
        const ignored = ipam.ignored.map((key) => `ipam.${key}`);
        return { pools: ipam.ippools, demands: planned(ipam, pools), ignored };
    } catch (error) {
        if (!(error instanceof CniCallError)) throw error;
        // Some messages end with their next step.
        const next = error.message.includes("; next: ") ? "" : "; next: correct spec.config";
        throw new NetworkError("INVALID_NETWORK", "caller", `network ${network}: ${path}${error.message}${next}`, {
            cause: error,
            details: { network },
        });
    }
}

function planned(ipam: IpamSection, pools: PoolRanges): readonly PlannedDemand[] {
    const { ippools, addresses } = ipam;
    // All addresses may be requested ones.
    if (ippools.length === 0 && addresses.length === 0) return [];
    return planAddresses(ipam, { addresses, source: "ipam.addresses" }, (ip) => {
        const covering = pools.overlapping(rangeOf(ip)).map(({ key }) => key);
        const found = covering.filter((name) => pools.pool(name)?.addresses.has(ip) === true);
        return found.find((name) => ippools.includes(name)) ?? found[0];
    }).demands;
}

/** Warnings about IPPools of a network that give no address: those that do not exist yet, or are being deleted. */
export function poolWarnings(names: readonly string[], network: string, pools: PoolRanges): readonly string[] {
    return names.flatMap((name) => {
        const pool = pools.pool(name);
        const field = `network ${network}: ipam.ippools ${quote(name)}`;
        if (pool === undefined) {
            return [
                `${field}: there is no IPPool of this name yet; Pods on this network do not start until it is created`,
            ];
        }
        return pool.isDeleting ? [`${field}: is being deleted and hands out no new address; name another IPPool`] : [];
    });
}

/** A warning about the keys of a network that have no effect; none without such keys. */
export function keyWarnings(keys: readonly string[], network: string): readonly string[] {
    if (keys.length === 0) return [];
    return [`network ${network}: keys without effect: ${keysText(keys)}; correct or remove them`];
}

/**
 * A warning if the addresses of one interface can be in several VLANs, so that the agent refuses Pods; none for IPPools
 * that do not exist yet.
 */
export function vlanWarnings(demands: readonly PlannedDemand[], network: string, pools: PoolRanges): readonly string[] {
    const choices = demands.flatMap((demand, index) =>
        vlansOf(demand, pools.pool(demand.pool)).map((vlan) => ({ index, pool: demand.pool, vlan })),
    );
    for (const one of choices) {
        const other = choices.find(({ index, vlan }) => index > one.index && vlan !== one.vlan);
        if (other === undefined) continue;
        return [
            `network ${network}: its IPPools ${one.pool} and ${other.pool} have the VLANs ${one.vlan} and ${other.vlan}, and an interface has one; set vlan in the network, or name IPPools of one VLAN`,
        ];
    }
    return [];
}

/** The VLANs in which the address of a demand may be. */
function vlansOf({ fixed }: PlannedDemand, pool: Pool | undefined): readonly number[] {
    if (pool === undefined) return [];
    if (fixed === undefined) return [...new Set(pool.subnets.map(({ vlan }) => vlan))];
    const subnet = pool.subnetOf(fixed);
    return subnet === undefined ? [] : [subnet.vlan];
}
