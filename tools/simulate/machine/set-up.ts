import { fromAlias, fromExternalIds } from "@antrea/agent/platform/pod-interfaces";
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
