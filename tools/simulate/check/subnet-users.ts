import { allocationName } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { type EventInput } from "@antrea/kube";
import { type Station } from "../station.ts";
import { type ForeignSubnets } from "./foreign-subnets.ts";
import { type Truth } from "./truth.ts";

/**
 * At rest a container with an address of its Node's subnet that is also allocated from a pool is isolated if a Pod
 * has the allocation, and otherwise not; an event is on its Pod in both cases. One with an address of another Node's
 * subnet is isolated, with an event.
 */
export class SubnetUsers {
    readonly #truth: Truth;
    readonly #foreign: ForeignSubnets;
    /** Events AddressHeldElsewhere, as `namespace/name address`. */
    readonly #reported = new Set<string>();

    constructor(truth: Truth, foreign: ForeignSubnets) {
        this.#truth = truth;
        this.#foreign = foreign;
    }

    recorded({ reason, regarding, note }: EventInput): void {
        const address = /^address (\S+) of this Pod/.exec(note)?.[1];
        if (reason === "AddressHeldElsewhere")
            this.#reported.add(`${regarding.namespace}/${regarding.name} ${address}`);
    }

    *unsettled(stations: readonly Station[]): Iterable<string> {
        for (const { kubelet, machine } of stations) {
            for (const { uid, container, addresses, ifName } of kubelet.running) {
                if (ifName !== "eth0") continue;
                const { podNamespace, podName } = machine.netns.get(`/run/netns/${container}`)?.container ?? {};
                const ofPools = new Set(machine.setUpOf(container)?.addresses.map(({ ip }) => formatIp(ip)));
                for (const address of addresses.filter((one) => !ofPools.has(one))) {
                    const name = allocationName(parseIp(address));
                    const allocation = this.#truth.allocations.get(name);
                    const other = allocation?.spec.pod?.uid === uid ? undefined : allocation;
                    const holder = this.#foreign.holderOf(address, machine.name);
                    if (other === undefined && holder === undefined) continue;
                    const whose = other
                        ? `is ${other.spec.state} in IPPool ${other.spec.pool}`
                        : `is ${holder}'s by now`;
                    const which = `container ${container} on ${machine.name} has ${address} of its Node's subnet, which ${whose},`;
                    const isReachable = this.#truth.usersOf(name).some(({ id }) => id === container);
                    const isAnothers = other?.spec.pod !== undefined || holder !== undefined;
                    if (isReachable && isAnothers) yield `${which} and is not isolated`;
                    if (!isReachable && !isAnothers) yield `${which} and is isolated`;
                    if (!this.#reported.has(`${podNamespace}/${podName} ${address}`))
                        yield `${which} and no event reports it`;
                }
            }
        }
    }
}
