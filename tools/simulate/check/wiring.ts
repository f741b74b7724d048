import { allocationName, type IpAllocation, type IpPool } from "@antrea/crd";
import { formatIp, sameIp, type IpAddress } from "@antrea/ip";
import { readPool, type Pool, type PoolSubnet } from "@antrea/ipam";
import { type EventInput } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Change } from "../api/store.ts";
import { type Container, type Truth } from "./truth.ts";

const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");
const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");

/** The configuration of an interface, from its record on its Node. */
export interface SetUp {
    /** Addresses from pools. */
    readonly addresses: readonly {
        readonly ip: IpAddress;
        readonly prefixLength: number;
        readonly gateway: IpAddress;
        /** Undefined or empty: not recorded. */
        readonly pool?: string | undefined;
    }[];
    readonly vlan: number;
    /** Of an interface on another network than the Pod network. */
    readonly ifName?: string;
}

/** A pool between two writes. */
interface Definition {
    /** Undefined: it did not exist. */
    readonly pool: Pool | undefined;
    /** The store version of the next write. */
    until: number;
}

/**
 * Whether Pods are configured as their pools specify. When an interface gets flows, its VLAN, prefix lengths and
 * gateways match a definition that the pool of its allocation had at some time since the allocation names the
 * container: the pool may change later, and the allocation fences off earlier definitions. At rest it matches the
 * current definition, or the Pod has an event.
 */
export class Wirings {
    readonly #truth: Truth;
    readonly #isBridged: boolean;
    /** By name of the pool, oldest first. */
    readonly #definitions = new Map<string, Definition[]>();
    /** By allocation and container, the store version at which the allocation first named the container. */
    readonly #since = new Map<string, number>();
    /** Events PoolChanged, as `namespace/name address`. */
    readonly #reported = new Set<string>();

    constructor(truth: Truth, options: { readonly isBridged: boolean }) {
        this.#truth = truth;
        this.#isBridged = options.isBridged;
    }

    changed({ kind, key, version, after }: Change): void {
        if (kind === poolKind) {
            const known = this.#definitions.get(key) ?? [];
            const last = known.at(-1);
            if (last !== undefined) last.until = version;
            known.push({ pool: after && readPool(after.object as IpPool), until: Infinity });
            this.#definitions.set(key, known);
        }
        if (kind !== allocationKind || after === undefined) return;
        const { pod } = (after.object as IpAllocation).spec;
        if (pod === undefined) return;
        for (const who of [pod.containerID, pod.uid]) {
            const which = `${key} ${who}`;
            if (!this.#since.has(which)) this.#since.set(which, version);
        }
    }

    recorded({ reason, regarding, note }: EventInput): void {
        const address = /^address (\S+)/.exec(note)?.[1];
        if (reason === "PoolChanged") this.#reported.add(`${regarding.namespace}/${regarding.name} ${address}`);
    }

    /** The container gets flows with these addresses; `vlan`: the tag that its flows push, if any. */
    wired(container: Container, setUp: SetUp, vlan: number | undefined): void {
        const wrong = this.#wrong(container);
        if (this.#isBridged !== (vlan !== undefined)) wrong(`its flows mark VLAN ${vlan}`);
        if (vlan !== undefined && vlan !== setUp.vlan) wrong(`its flows mark VLAN ${vlan}, its record ${setUp.vlan}`);
        const vlans = this.#checkAddresses(container, setUp, wrong);
        if (vlans !== undefined && !this.#isVlanOf(setUp.vlan, vlans))
            wrong(
                `its VLAN is ${setUp.vlan}, and its pools specified ${vlans.map((set) => [...set].join("|")).join()}`,
            );
    }

    /**
     * An interface on another network has traffic, by a port in this VLAN; `ofNetwork`: those that its network had since
     * the container was made, 0 for those of its pools; undefined if they are not known.
     */
    wiredNetwork(container: Container, setUp: SetUp, vlan: number, ofNetwork: readonly number[] | undefined): void {
        const wrong = this.#wrong(container);
        if (vlan !== setUp.vlan) wrong(`its port is in VLAN ${vlan}, its record in ${setUp.vlan}`);
        const vlans = this.#checkAddresses(container, setUp, wrong);
        if (ofNetwork === undefined || vlans === undefined || ofNetwork.includes(vlan)) return;
        const isOfPools = ofNetwork.includes(0) && vlans.every((possible) => possible.has(vlan));
        if (!isOfPools) wrong(`its port is in VLAN ${vlan}, and its network specified ${ofNetwork.join(" or ")}`);
    }

    /** The VLANs that the pool of each address may have specified; undefined if one has no allocation. */
    #checkAddresses(
        container: Container,
        setUp: SetUp,
        wrong: (text: string) => void,
    ): readonly ReadonlySet<number>[] | undefined {
        const possible = setUp.addresses.map(({ ip }) => this.#definitionsOf(container, ip));
        for (const [at, address] of setUp.addresses.entries()) {
            const subnets = possible[at];
            // Addresses without an allocation are checked elsewhere.
            if (subnets === undefined || subnets.some((subnet) => fits(address, subnet))) continue;
            const expected = subnets.map((subnet) => (subnet === undefined ? "nothing" : textOf(subnet))).join(" or ");
            wrong(`${setUpText(address)}, of which its pool specified ${expected}`);
        }
        if (possible.some((subnets) => subnets === undefined)) return undefined;
        return possible.map((subnets = []) => new Set(subnets.flatMap((subnet) => subnet?.vlan ?? [])));
    }

    #wrong({ id, podNamespace, podName, node }: Container): (text: string) => void {
        const which = `container ${id} of Pod ${podNamespace}/${podName} on ${node}`;
        return (text) => this.#truth.violated("a Pod has what its pool specifies", `${which}: ${text}`);
    }

    /** Differences from the pool's current definition without an event. */
    *unsettled(container: Container, setUp: SetUp): Iterable<string> {
        const now = setUp.addresses.map(({ ip }) => {
            const pool = this.#truth.allocations.get(allocationName(ip))?.spec.pool ?? "";
            return this.#definitions.get(pool)?.at(-1)?.pool?.subnetOf(ip);
        });
        const vlans = now.map((subnet) => new Set(subnet === undefined ? [] : [subnet.vlan]));
        // A network may have a VLAN of its own.
        const isVlanRight = setUp.ifName !== undefined || this.#isVlanOf(setUp.vlan, vlans);
        const name = `${container.podNamespace}/${container.podName}`;
        const isReported = ({ ip }: SetUp["addresses"][number]): boolean =>
            this.#reported.has(`${name} ${formatIp(ip)}`);
        // An interface has one VLAN for all its addresses: a wrong VLAN is reported for the addresses whose pools specify
        // another one; without bridging mode an untagged address needs no event of its own if another address has one.
        const isOther = (at: number): boolean => now[at]?.vlan !== setUp.vlan;
        const isOtherReported = setUp.addresses.some((address, at) => isOther(at) && isReported(address));
        const mustReportVlan = (at: number): boolean =>
            !isVlanRight && isOther(at) && (this.#isBridged || now[at]?.vlan !== 0 || !isOtherReported);
        for (const [at, address] of setUp.addresses.entries()) {
            if (fits(address, now[at]) && !mustReportVlan(at)) continue;
            if (isReported(address)) continue;
            const expected = now[at] === undefined ? "nothing" : textOf(now[at]);
            yield `Pod ${name} on ${container.node} has ${setUpText(address)} in VLAN ${setUp.vlan}, its pool specifies ${expected}, and no event reports it`;
        }
    }

    /** Without bridging mode no frame is tagged, and one of two addresses may be untagged. */
    #isVlanOf(vlan: number, ofAddresses: readonly ReadonlySet<number>[]): boolean {
        const isIn = (wanted: number) => (vlans: ReadonlySet<number>) => vlans.has(wanted);
        if (ofAddresses.every(isIn(vlan))) return true;
        if (this.#isBridged) return false;
        return ofAddresses.some(isIn(vlan)) && ofAddresses.every((vlans) => isIn(vlan)(vlans) || isIn(0)(vlans));
    }

    /** The subnets of the address in the pool of its allocation, one per definition since; undefined: no allocation. */
    #definitionsOf({ id, podUid }: Container, ip: IpAddress): readonly (PoolSubnet | undefined)[] | undefined {
        const name = allocationName(ip);
        const since = this.#since.get(`${name} ${id}`) ?? this.#since.get(`${name} ${podUid}`);
        const allocation = this.#truth.allocations.get(name);
        if (since === undefined || allocation?.spec.pod?.uid !== podUid) return undefined;
        const definitions = this.#definitions.get(allocation.spec.pool) ?? [];
        return definitions.filter(({ until }) => until > since).map(({ pool }) => pool?.subnetOf(ip));
    }
}

function fits({ prefixLength, gateway }: SetUp["addresses"][number], subnet: PoolSubnet | undefined): boolean {
    return subnet !== undefined && subnet.prefix.length === prefixLength && sameIp(subnet.gateway, gateway);
}

function setUpText({ ip, prefixLength, gateway }: SetUp["addresses"][number]): string {
    return `${formatIp(ip)}/${prefixLength} with gateway ${formatIp(gateway)}`;
}

function textOf({ prefix, gateway, vlan }: PoolSubnet): string {
    return `/${prefix.length} with gateway ${formatIp(gateway)} in VLAN ${vlan}`;
}
