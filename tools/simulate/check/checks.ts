import { type EventInput } from "@antrea/kube";
import { type Change, type Store } from "../api/store.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { type Attacher } from "../cluster/network-objects.ts";
import { ForcedAllocations, type ForcedAllocationsComponents } from "./forced-allocations.ts";
import { ForeignSubnets, type ForeignSubnetsComponents } from "./foreign-subnets.ts";
import { Gateways } from "./gateways.ts";
import { GoneNodes, type GoneNodesComponents } from "./gone-nodes.ts";
import { Isolations } from "./isolations.ts";
import { Networks } from "./networks.ts";
import { Sticky } from "./sticky.ts";
import { SubnetUsers } from "./subnet-users.ts";
import { Subnets } from "./subnets.ts";
import { type Container, type Truth } from "./truth.ts";
import { Wirings } from "./wiring.ts";
import { PoolSelections } from "./pool-selection.ts";

export interface ChecksComponents extends GoneNodesComponents, ForeignSubnetsComponents {
    readonly truth: Truth;
    readonly store: Store;
    readonly time: VirtualTime;
    /** The start times of the running controllers. */
    readonly startsOfControllers: () => readonly number[];
    /** See ForcedAllocationsComponents. */
    readonly namesPool: ForcedAllocationsComponents["namesPool"];
}

/** The checks besides which container has which address. */
export class Checks {
    readonly sticky: Sticky;
    readonly wirings: Wirings;
    readonly gateways: Gateways;
    readonly subnets: Subnets;
    readonly foreignSubnets: ForeignSubnets;
    readonly subnetUsers: SubnetUsers;
    readonly poolSelections: PoolSelections;
    readonly goneNodes: GoneNodes;
    readonly isolations: Isolations = new Isolations();
    readonly forcedAllocations: ForcedAllocations;
    readonly networks: Networks;

    constructor(components: ChecksComponents, options: { readonly isBridged: boolean; readonly attacher: Attacher }) {
        const { truth, store } = components;
        this.sticky = new Sticky(truth, store);
        this.wirings = new Wirings(truth, options);
        this.networks = new Networks({ truth, store, wirings: this.wirings }, options);
        this.gateways = new Gateways(truth, store);
        this.subnets = new Subnets(components);
        this.foreignSubnets = new ForeignSubnets(components);
        this.subnetUsers = new SubnetUsers(truth, this.foreignSubnets);
        this.poolSelections = new PoolSelections(truth);
        this.goneNodes = new GoneNodes(components);
        const subnetHolder = this.foreignSubnets.holderOf.bind(this.foreignSubnets);
        this.forcedAllocations = new ForcedAllocations({ ...components, subnetHolder });
    }

    changed(change: Change): void {
        const { isolations, networks, poolSelections, sticky, subnets, wirings } = this;
        for (const one of [subnets, poolSelections, sticky, wirings, networks, isolations]) one.changed(change);
    }

    recorded(event: EventInput): void {
        this.wirings.recorded(event);
        this.gateways.recorded(event);
        this.subnetUsers.recorded(event);
        this.isolations.recorded(event);
    }

    /** A user takes this address from its owner: another may get it. */
    forced(address: string): void {
        this.sticky.forced(address);
        this.networks.sticky.forced(address);
    }

    /** An ADD returned this address to a container. */
    answered(container: Container, address: string, isOfPool: boolean): void {
        this.sticky.got(container, address);
        this.poolSelections.answered(container, address, isOfPool);
        if (!isOfPool) this.subnets.answered(container, address);
    }
}
