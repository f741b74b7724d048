import { allocationName, type IpAllocation, type IpPool } from "@antrea/crd";
import { formatIp, parseIp, sameIp, type IpAddress } from "@antrea/ip";
import { readPool, type Pool } from "@antrea/ipam";
import { type EventInput } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Write } from "../api/rules.ts";
import { type Store } from "../api/store.ts";
import { type Truth } from "./truth.ts";

const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");

/**
 * A gateway belongs to the router only: no pool whose gateway is in use is accepted, and at rest each gateway is
 * reserved, or its holder is reported.
 */
export class Gateways {
    readonly #truth: Truth;
    readonly #store: Store;
    /** Events about gateways with another holder, as `pool address`. */
    readonly #reported = new Set<string>();

    constructor(truth: Truth, store: Store) {
        this.#truth = truth;
        this.#store = store;
    }

    recorded({ reason, regarding, note }: EventInput): void {
        const address = /^The gateway (\S+)/.exec(note)?.[1];
        if (reason === "AddressHeldElsewhere" && regarding.kind === "IPPool")
            this.#reported.add(`${regarding.name} ${address}`);
    }

    /** Called before a pool is validated: the check to run if it was allowed. Undefined: none. */
    judged({ kind, before, after }: Write): (() => void) | undefined {
        if (kind !== poolKind || after === undefined) return undefined;
        const old = before && readPool(before as IpPool);
        const pool = readPool(after as IpPool);
        const fresh = pool.gateways.filter(({ ip, vlan }) => old === undefined || !hasGateway(old, ip, vlan));
        const users = fresh.flatMap(({ ip, vlan }) => {
            const allocation = this.#userOf(ip, vlan);
            return allocation === undefined ? [] : [{ ip, vlan, allocation }];
        });
        return () => {
            for (const { ip, vlan, allocation } of users) {
                // It may have ended while the webhook was validating.
                if (this.#userOf(ip, vlan)?.metadata?.uid !== allocation.metadata?.uid) continue;
                const text = `gateway ${formatIp(ip)} of IPPool ${pool.name} is claimed: ${JSON.stringify(allocation.spec)}`;
                this.#truth.violated("no pool is accepted with a gateway that somebody has", text);
            }
        };
    }

    /** Gateways that are not reserved, and those in use by Pods without an event. */
    *unsettled(isHandedOut: (pool: Pool, ip: IpAddress) => boolean): Iterable<string> {
        const pools = [...this.#store.all(poolKind)].map(({ object }) => readPool(object as IpPool));
        for (const pool of pools) {
            for (const { ip, vlan } of pool.gateways) {
                const isPods = pools.some((other) => isHandedOut(other, ip));
                if (!isPods && !this.#truth.allocations.has(allocationName(ip)))
                    yield `gateway ${formatIp(ip)} of IPPool ${pool.name} is not reserved`;
                const user = this.#userOf(ip, vlan);
                if (user !== undefined && !isPods && !this.#reported.has(`${pool.name} ${formatIp(ip)}`))
                    yield `gateway ${formatIp(ip)} of IPPool ${pool.name} is in use, and no event reports it: ${JSON.stringify(user.spec)}`;
            }
        }
    }

    /** The allocation of a Pod or for a StatefulSet; in another VLAN the same address is a different one. */
    #userOf(ip: IpAddress, vlan: number): IpAllocation | undefined {
        const allocation = this.#truth.allocations.get(allocationName(ip));
        if (
            allocation === undefined ||
            allocation.spec.owner.kind === "Node" ||
            allocation.spec.owner.kind === "Gateway"
        )
            return undefined;
        const object = this.#store.get(poolKind, allocation.spec.pool)?.object as IpPool | undefined;
        const own = object && readPool(object).subnetOf(parseIp(allocation.spec.address))?.vlan;
        return own === undefined || own === vlan ? allocation : undefined;
    }
}

function hasGateway({ gateways }: Pool, ip: IpAddress, vlan: number): boolean {
    return gateways.some((known) => known.vlan === vlan && sameIp(known.ip, ip));
}
