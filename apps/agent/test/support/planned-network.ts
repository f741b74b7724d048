import type { PlannedNetwork } from "../../src/platform/pod-interfaces/index.ts";

/** What a Pod gets on a network of the interface's name; with `pool` it has one address, of this IPPool. */
export function plannedNetwork(
    ifName: string,
    { pool, ...change }: Partial<PlannedNetwork> & { readonly pool?: string | undefined } = {},
): PlannedNetwork {
    const demand = pool === undefined ? undefined : { pool, fixed: undefined };
    return {
        ifName,
        network: `default/${ifName}`,
        vlan: undefined,
        mtu: 1500,
        mac: undefined,
        addresses: demand && { demands: [demand], order: [0], given: new Map() },
        routes: [],
        dns: undefined,
        defaultGateways: [],
        ...change,
    };
}
