import { fromAlias, fromExternalIds, fromNetworkIds } from "@antrea/agent/platform/pod-interfaces";
import { type SetUp } from "../check/wiring.ts";

/** The configuration in the record of an interface with addresses of pools; undefined if it has none. */
export function setUpOf(
    externalIds: ReadonlyMap<string, string> | undefined,
    alias: string | undefined,
): SetUp | undefined {
    const record = externalIds && fromExternalIds("", externalIds);
    if (record !== undefined && record !== "unfinished") {
        const addresses = record.addresses.filter(({ pool }) => pool !== undefined);
        return addresses.length === 0 ? undefined : { addresses, vlan: record.vlan };
    }
    // The database is lost: the agent restores the record from this.
    const known = fromAlias(alias);
    const addresses = (known?.addresses ?? []).flatMap(({ gateway, ...address }) =>
        gateway === undefined ? [] : [{ ...address, gateway }],
    );
    return addresses.length === 0 ? undefined : { addresses, vlan: known?.vlan ?? 0 };
}

/** The same of an interface on another network, from the record of its port. */
export function networkSetUpOf(externalIds: Readonly<Record<string, string>> | undefined): SetUp | undefined {
    const record = externalIds && fromNetworkIds("", new Map(Object.entries(externalIds)));
    if (record === undefined || record === "unfinished") return undefined;
    const addresses = record.addresses.flatMap(({ pool, gateway, ...address }) =>
        pool === undefined || gateway === undefined ? [] : [{ ...address, pool, gateway }],
    );
    return addresses.length === 0 ? undefined : { addresses, vlan: record.vlan, ifName: record.ifName };
}
