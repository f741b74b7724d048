import { allocationName } from "@antrea/crd";
import { Reg, type FlowSet } from "@antrea/flows";
import { formatMac, ipToBytes, parseIp, type IpAddress } from "@antrea/ip";
import { NetlinkError, type Address, type Neighbour, type Route } from "@antrea/netlink";
import { type SubField } from "@antrea/openflow";
import { type Container, type Truth } from "../check/truth.ts";
import { type SetUp } from "../check/wiring.ts";
import { etherLink, nicsOf, type MachineLink } from "./links.ts";
import { newNetns, type Netns } from "./netns.ts";
import { NetworkUsers } from "./network-users.ts";
import { networkSetUpOf, setUpOf } from "./set-up.ts";
import { type StoredSwitch } from "./stored-switch.ts";

/** A port of the bridge in ovsdb-server. */
export interface StoredPort {
    readonly name: string;
    /** As in the database: "" for a kernel link, "internal" for one that OVS creates, or a tunnel type. */
    readonly type: string;
    readonly mac: string | undefined;
    readonly externalIds: ReadonlyMap<string, string>;
    readonly ofPort: number;
}

export interface MachineOptions {
    readonly name: string;
    readonly address: string;
    /** Files of others in the CNI configuration folder, by name. */
    readonly cniFiles: Readonly<Record<string, string>>;
    /** Called for each container that gets flows, with its configuration and the VLAN tag that its flows push. */
    readonly wired: (container: Container, setUp: SetUp, vlan: number | undefined) => void;
    /** Called for each interface on another network that has traffic, with its record and the VLAN of its port. */
    readonly wiredNetwork: (container: Container, setUp: SetUp, vlan: number) => void;
    /** Called for each such interface that its agent has isolated. */
    readonly isolatedNetwork: () => void;
}

/** A Node: the state that outlives its processes. */
export class Machine {
    readonly name: string;
    readonly address: string;
    isOn = true;
    boots = 0;
    /** The external_ids of the bridge, with the agent's state for its next start; undefined: no bridge. */
    bridgeIds: Map<string, string> | undefined;
    /** In bridging mode: the NIC is a port of the bridge. */
    isUplinkMoved = false;
    /** How often OVS became unavailable. */
    stops = 0;
    /** The NICs: eth0, with this address, leads to other Nodes, eth1 to the switch with VLANs. */
    nics: Map<string, MachineLink>;
    readonly nicAddress: Address;
    /** Addresses of the other links, and the kernel's routes and neighbours. */
    readonly addresses = new Map<string, Address>();
    readonly routes = new Map<string, Route>();
    readonly neighbours = new Map<string, Neighbour>();
    /** Below /proc/sys; a machine that runs Pods has forwarding enabled. */
    readonly settings = new Map<string, string>([["net/ipv4/ip_forward", "1"]]);
    /** Files in the CNI configuration folder, by name. */
    readonly files: Map<string, string>;
    /** How often the OVS database was lost. */
    databases = 0;
    readonly links = new Map<string, MachineLink>();
    readonly ports = new Map<string, StoredPort>();
    /** Flows in OVS, by owner; with the address from which they let the container send. */
    readonly flows = new Map<string, readonly IpAddress[]>();
    readonly netns = new Map<string, Netns>();
    /** The bridges for other networks than the Pod network, by name. */
    readonly switches = new Map<string, StoredSwitch>();
    readonly networkUsers: NetworkUsers;
    readonly #truth: Truth;
    readonly #wired: MachineOptions["wired"];
    readonly #wiredNetwork: MachineOptions["wiredNetwork"];
    readonly #isolatedNetwork: MachineOptions["isolatedNetwork"];
    readonly #cniFiles: MachineOptions["cniFiles"];
    #index = 10;
    /** Callbacks that wait until OVS is available; undefined while it runs. */
    #waiters: Set<() => void> | undefined;
    /** Callbacks that wait until OVS becomes unavailable. */
    #watchers = new Set<() => void>();

    constructor(truth: Truth, options: MachineOptions) {
        this.#truth = truth;
        this.name = options.name;
        this.address = options.address;
        this.#wired = options.wired;
        this.#wiredNetwork = options.wiredNetwork;
        this.#isolatedNetwork = options.isolatedNetwork;
        this.#cniFiles = options.cniFiles;
        this.files = new Map(Object.entries(options.cniFiles));
        this.networkUsers = new NetworkUsers({ truth, links: this.links, switches: this.switches });
        const ip = parseIp(options.address);
        this.nics = nicsOf(formatMac(Uint8Array.of(2, 0, ...ipToBytes(ip))));
        this.nicAddress = {
            index: this.uplink.index,
            ip,
            prefixLength: 24,
            scope: 0,
            permanent: true,
            secondary: false,
            tentative: false,
            dadFailed: false,
            flags: 0,
        };
    }

    get bootId(): string {
        return `${String(this.boots).padStart(8, "0")}-${this.name}`;
    }

    /** The agent's record about its Node in the OVS database. */
    get remembered(): string | undefined {
        return this.bridgeIds?.get("antrea-node");
    }

    /** The NIC that leads to other Nodes. */
    get uplink(): MachineLink {
        const [first] = this.nics.values();
        if (first === undefined) throw new NetlinkError("ENODEV", "internal", "a machine has NICs");
        return first;
    }

    nextIndex(): number {
        return (this.#index += 1);
    }

    addNetns(container: Container): Netns {
        const netns = newNetns(container);
        this.netns.set(netns.path, netns);
        return netns;
    }

    /** Removes the namespace, with both ends of its veth pairs. */
    endNetns(path: string): void {
        const netns = this.netns.get(path);
        if (netns === undefined) return;
        this.netns.delete(path);
        for (const { hostIfName } of netns.ends.values()) this.links.delete(hostIfName);
        for (const ip of this.#flowsOf(netns.container.id)) this.#truth.disconnected(netns.container.id, ip);
        this.networkUsers.update(netns, true);
    }

    /** Something changed that may connect or disconnect interfaces on other networks. */
    networksChanged(netns: Netns): void {
        if (this.netns.get(netns.path) !== netns) return;
        this.networkUsers.update(netns);
        const { container } = netns;
        for (const { ifName } of netns.ends.values()) {
            const setUp = ifName === "eth0" ? undefined : this.setUpOf(container.id, ifName);
            const port = setUp && this.#switchPortOf(container.id, ifName);
            if (setUp === undefined || port === undefined) continue;
            if (this.networkUsers.isReachable(container, ifName)) this.#wiredNetwork(container, setUp, port.vlan);
            else if (port.externalIds["isolated"] === "true") {
                this.#isolatedNetwork();
                for (const { ip } of setUp.addresses) this.#truth.isolated(container.id, ip);
            }
        }
    }

    /** Ports of a bridge for other networks were changed or deleted. */
    portsChanged(names: readonly string[]): void {
        for (const name of names) {
            const netns = this.netns.get(this.links.get(name)?.netns ?? "");
            if (netns !== undefined) this.networksChanged(netns);
        }
    }

    /** The device of an internal port, which OVS creates; an existing one stays. */
    addInternalLink({
        name,
        mac,
        mtu,
    }: {
        readonly name: string;
        readonly mac: string | undefined;
        readonly mtu: number;
    }) {
        if (this.links.has(name)) return;
        this.links.set(name, etherLink({ index: this.nextIndex(), name, mac: mac ?? "02:00:00:00:00:03", mtu }));
    }

    deleteLink(name: string): void {
        const link = this.links.get(name);
        if (link === undefined) return;
        this.links.delete(name);
        this.#forgetLink(link.index);
        const netns = this.netns.get(link.netns);
        const end = [...(netns?.ends.values() ?? [])].find(({ hostIfName }) => hostIfName === name);
        if (netns === undefined || end === undefined) return;
        netns.ends.delete(end.ifName);
        if (end.ifName !== "eth0") return this.networksChanged(netns);
        for (const ip of this.#flowsOf(netns.container.id)) this.#truth.disconnected(netns.container.id, ip);
    }

    setFlows(owner: string, flows: FlowSet): void {
        const containerId = containerOf(owner);
        const ips = sourcesOf(flows);
        for (const ip of this.flows.get(owner) ?? []) this.#truth.disconnected(containerId, ip);
        this.flows.set(owner, ips);
        const container = this.#living(containerId);
        if (container === undefined) return;
        for (const ip of ips) this.#truth.connected(container, ip);
        const setUp = this.setUpOf(containerId);
        if (ips.length > 0 && setUp !== undefined) this.#wired(container, setUp, vlanOf(flows));
    }

    /** Whether its agent has isolated the interface of the container, according to the record. */
    isIsolated(containerId: string, ifName = "eth0"): boolean {
        if (ifName !== "eth0") return this.#switchPortOf(containerId, ifName)?.externalIds["isolated"] === "true";
        return [...this.ports.values()].some(
            ({ externalIds }) =>
                externalIds.get("container-id") === containerId && externalIds.get("isolated") === "true",
        );
    }

    /** The configuration of an interface of a container with addresses of pools, from its record. */
    setUpOf(containerId: string, ifName = "eth0"): SetUp | undefined {
        if (ifName !== "eth0") return networkSetUpOf(this.#switchPortOf(containerId, ifName)?.externalIds);
        const port = [...this.ports.values()].find(
            ({ externalIds }) => externalIds.get("container-id") === containerId,
        );
        const end = this.netns.get(`/run/netns/${containerId}`)?.ends.get("eth0");
        return setUpOf(port?.externalIds, this.links.get(end?.hostIfName ?? "")?.alias);
    }

    /** Whether a record of the container names the pool of the address. */
    namesPool(containerId: string, name: string): boolean {
        const { ends } = this.netns.get(`/run/netns/${containerId}`) ?? {};
        const all = [...(ends?.keys() ?? ["eth0"])].map((ifName) => this.setUpOf(containerId, ifName));
        const addresses = all.flatMap((setUp) => setUp?.addresses ?? []);
        return addresses.some(({ ip, pool = "" }) => allocationName(ip) === name && pool !== "");
    }

    /** An agent removes them. */
    removeFlows(owner: string): void {
        this.#dropFlows(owner);
        this.#noteIsolation(containerOf(owner));
    }

    #forgetLink(gone: number): void {
        for (const [key, { index }] of this.addresses) if (index === gone) this.addresses.delete(key);
        for (const [key, { index }] of this.neighbours) if (index === gone) this.neighbours.delete(key);
        for (const [key, { dev }] of this.routes) if (dev === gone) this.routes.delete(key);
    }

    setPort(port: StoredPort): void {
        this.ports.set(port.name, port);
        this.#noteIsolation(port.externalIds.get("container-id") ?? "");
    }

    /** An interrupted DEL has isolated nothing: a restarted agent knows only what is recorded. */
    #noteIsolation(containerId: string): void {
        if (!this.isIsolated(containerId) || this.#flowsOf(containerId).length > 0) return;
        for (const { ip } of this.setUpOf(containerId)?.addresses ?? []) this.#truth.isolated(containerId, ip);
    }

    /** ovs-vswitchd restarts: it knows its ports and no flows. */
    loseFlows(): void {
        for (const owner of [...this.flows.keys()]) this.#dropFlows(owner);
    }

    #dropFlows(owner: string): void {
        for (const ip of this.flows.get(owner) ?? []) this.#truth.disconnected(containerOf(owner), ip);
        this.flows.delete(owner);
    }

    /** ovsdb-server starts with an empty database. */
    loseDatabase(): void {
        for (const { type, name } of this.ports.values()) if (type === "internal") this.deleteLink(name);
        this.ports.clear();
        this.switches.clear();
        this.bridgeIds = undefined;
        this.databases += 1;
        for (const netns of this.netns.values()) this.networksChanged(netns);
    }

    /** OVS becomes unavailable; it keeps its state. */
    stopOvs(): void {
        if (!this.hasOvs) return;
        this.#waiters = new Set();
        this.stops += 1;
        const watchers = this.#watchers;
        this.#watchers = new Set();
        for (const wake of watchers) wake();
    }

    /** Resolves when OVS has become unavailable more often than that. */
    stopped(stops: number): Promise<void> {
        if (this.stops > stops) return Promise.resolve();
        return new Promise((resolve) => void this.#watchers.add(resolve));
    }

    startOvs(): void {
        const waiters = this.#waiters ?? [];
        this.#waiters = undefined;
        for (const wake of waiters) wake();
    }

    get hasOvs(): boolean {
        return this.#waiters === undefined;
    }

    /** Resolves when OVS is available; rejects if the signal aborts first. */
    async ovs(signal: AbortSignal | undefined): Promise<void> {
        signal?.throwIfAborted();
        while (this.#waiters !== undefined) {
            const waiters = this.#waiters;
            const { promise, resolve } = Promise.withResolvers<void>();
            waiters.add(resolve);
            const abort = (): void => resolve();
            signal?.addEventListener("abort", abort, { once: true });
            await promise;
            signal?.removeEventListener("abort", abort);
            waiters.delete(resolve);
            signal?.throwIfAborted();
        }
    }

    /** Stops the machine immediately. Its disk is kept. */
    powerOff(): void {
        this.isOn = false;
        this.loseFlows();
        for (const path of [...this.netns.keys()]) this.endNetns(path);
        this.links.clear();
        for (const kernel of [this.addresses, this.routes, this.neighbours]) kernel.clear();
        this.nics = nicsOf(this.uplink.mac ?? "");
        this.isUplinkMoved = false;
        this.#watchers.clear();
    }

    powerOn(options: { readonly diskLost: boolean }): void {
        this.isOn = true;
        this.boots += 1;
        if (options.diskLost) {
            this.loseDatabase();
            this.files.clear();
            for (const [name, content] of Object.entries(this.#cniFiles)) this.files.set(name, content);
        }
        this.startOvs();
    }

    #living(containerId: string): Container | undefined {
        const netns = this.netns.get(`/run/netns/${containerId}`);
        return netns?.ends.has("eth0") === true ? netns.container : undefined;
    }

    #switchPortOf(containerId: string, ifName: string): ReturnType<StoredSwitch["ports"]["get"]> {
        const ports = [...this.switches.values()].flatMap((one) => [...one.ports.values()]);
        return ports.find(
            ({ externalIds }) => externalIds["container-id"] === containerId && externalIds["if-dev"] === ifName,
        );
    }

    #flowsOf(containerId: string): readonly IpAddress[] {
        return [...this.flows].flatMap(([owner, ips]) => (containerOf(owner) === containerId ? ips : []));
    }
}

/** The container of an owner `pod/CONTAINER/INTERFACE`. */
function containerOf(owner: string): string {
    return owner.split("/")[1] ?? "";
}

/** The VLAN tag that the flows of a bridged Pod push; undefined for one that is not bridged. */
function vlanOf({ flows }: FlowSet): number | undefined {
    const marks = flows.flatMap(({ actions }) => actions ?? []).filter((action) => action.type === "set_field");
    const written = (part: SubField): readonly number[] =>
        marks.flatMap(({ field, value, mask }) => {
            const all = (1 << part.bits) - 1;
            const isIn = field === part.field && ((Number(mask) >> part.offset) & all) === all;
            return isIn ? [(Number(value) >> part.offset) & all] : [];
        });
    return written(Reg.bridged).includes(1) ? Math.max(0, ...written(Reg.vlan)) : undefined;
}

/** The addresses from which the spoof guard lets a Pod send. */
function sourcesOf({ flows }: FlowSet): readonly IpAddress[] {
    const found = new Map<string, IpAddress>();
    for (const { match } of flows) {
        const { in_port, eth_src, ipv4_src, ipv6_src } = match as Readonly<Record<string, unknown>>;
        if (in_port === undefined || eth_src === undefined) continue;
        if (typeof ipv4_src === "bigint") found.set(`4 ${ipv4_src}`, { family: 4, value: ipv4_src });
        // The unspecified address is not the Pod's own.
        if (typeof ipv6_src === "bigint" && ipv6_src !== 0n && ipv6_src >> 118n !== 0x3fan)
            found.set(`6 ${ipv6_src}`, { family: 6, value: ipv6_src });
    }
    return [...found.values()];
}
