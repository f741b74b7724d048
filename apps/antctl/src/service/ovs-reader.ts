import { Reg, Table } from "@antrea/flows";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type Protocol } from "@antrea/services";
import { type RunInOvs } from "../ovs-records/index.ts";
import { bucketsIn, endpointsIn, groupIn, loadedInto, readFlows, termsOf, type FlowText } from "./ovs-text.ts";
import { distinct, type Outcome, type Place } from "./places.ts";

/** A flow of the table ServiceLb for a place, and what becomes of connections that match it. */
export interface LbFlow extends FlowText {
    readonly outcome: Outcome;
    /** The group that it uses. */
    readonly group?: number;
}

/** What OVS of a Node has for a place; no flow: packets to it are the host's. */
export interface OvsPlace extends Omit<Place, "isClusterIp" | "outcomes"> {
    readonly flows: readonly LbFlow[];
    /** By falling priority. */
    readonly outcomes: readonly Outcome[];
}

/** Buckets: OVS 3.1 describes at most 64 KiB of a group, and has counters of as many bytes; what is longer is cut. */
const maxListed = 257;
const maxCounted = 4_091;
const hex = (value: number): string => `0x${value.toString(16)}`;
const bitOf = ({ offset }: { readonly offset: number }): number => 2 ** offset;
const flagOf = (register: { readonly offset: number }): string => `${hex(bitOf(register))}/${hex(bitOf(register))}`;

/**
 * Reads what OVS of one Node has for the places of a Service, by `ovs-ofctl` in the container antrea-ovs of its agent: only
 * flows and groups of these places, however many Services there are.
 */
export class OvsReader {
    readonly #run: RunInOvs;
    readonly #bridge: string;
    readonly #groups = new Map<number, Outcome>();

    /** For one reading of one Node: groups are read once. */
    constructor(run: RunInOvs, bridge: string) {
        this.#run = run;
        this.#bridge = bridge;
    }

    /**
     * Resolves with what OVS has for each of the places, and for other ports of their ClusterIPs. Rejects as `run`, and with
     * OfctlOutputError `BAD_OUTPUT`.
     */
    async read(places: readonly Place[]): Promise<readonly OvsPlace[]> {
        const found: OvsPlace[] = [];
        const byAddress = Map.groupBy(places, ({ ip }) => (ip === undefined ? "" : formatIp(ip)));
        for (const [, [first, ...more]] of byAddress) {
            if (first === undefined) continue;
            const all = [first, ...more];
            found.push(...(first.ip === undefined ? await this.#nodePorts(all) : await this.#address(first.ip, all)));
        }
        return found;
    }

    async #address(ip: IpAddress, places: readonly Place[]): Promise<readonly OvsPlace[]> {
        const match = ip.family === 4 ? `ip,nw_dst=${formatIp(ip)}` : `ipv6,ipv6_dst=${formatIp(ip)}`;
        const flows = await this.#flows(`table=${Table.ServiceLb},${match}`);
        const known = await Promise.all(places.map((place) => this.#place(place, flows)));
        if (!places.some(({ isClusterIp }) => isClusterIp)) return known;
        const others = otherPorts(flows, places).map((other) =>
            this.#place({ ip, family: ip.family, ...other, outcomes: [] }, flows),
        );
        return [...known, ...(await Promise.all(others))];
    }

    async #nodePorts(places: readonly Place[]): Promise<readonly OvsPlace[]> {
        return Promise.all(
            places.map(async (place) => {
                const match = `${wordOf(place)},tp_dst=${place.port}`;
                const flows = await this.#flows(`table=${Table.ServiceLb},${match}`);
                return this.#place(place, flows.filter(isNodePort));
            }),
        );
    }

    async #place(place: Omit<Place, "isClusterIp">, flows: readonly FlowText[]): Promise<OvsPlace> {
        const { ip, family, protocol, port } = place;
        const own = flows.filter((flow) => {
            const terms = termsOf(flow);
            return terms.has(wordOf({ family, protocol })) && terms.get("tp_dst") === String(port);
        });
        const sorted = own.toSorted((a, b) => b.priority - a.priority);
        const read = await Promise.all(sorted.map((flow) => this.#lbFlow(flow, place)));
        return { ip, family, protocol, port, flows: read, outcomes: distinct(read.map(({ outcome }) => outcome)) };
    }

    async #lbFlow(flow: FlowText, place: Pick<Place, "outcomes">): Promise<LbFlow> {
        const { actions } = flow;
        const group = groupIn(actions);
        const direct = endpointsIn(actions);
        if (group !== undefined) return { ...flow, group, outcome: await this.#groupOutcome(group, place) };
        if (direct.length > 0) return { ...flow, outcome: chosen(direct) };
        if (actions.includes("resubmit(")) return { ...flow, outcome: chosen(await this.#withAffinity(actions)) };
        return { ...flow, outcome: { kind: actions.includes("controller(") ? "rejected" : "dropped" } };
    }

    /** Of a Service with affinity the flows of EndpointDnat have the endpoints. */
    async #withAffinity(actions: string): Promise<readonly string[]> {
        const { service, localScope } = Reg;
        const number = loadedInto(service.field, actions) ?? 0;
        const isLocal = ((loadedInto(localScope.field, actions) ?? 0) & bitOf(localScope)) !== 0;
        const flows = await this.#flows(`table=${Table.EndpointDnat},${service.field}=${hex(number)}`);
        const own = flows.filter((flow) => (termsOf(flow).get(localScope.field) === flagOf(localScope)) === isLocal);
        return own.flatMap((flow) => endpointsIn(flow.actions)).sort();
    }

    async #groupOutcome(group: number, { outcomes }: Pick<Place, "outcomes">): Promise<Outcome> {
        const known = this.#groups.get(group);
        if (known !== undefined) return known;
        const isCountable = outcomes.every((one) => one.kind !== "endpoints" || one.endpoints.length < maxCounted);
        const buckets = isCountable ? bucketsIn(await this.#ofctl("dump-group-stats", `group_id=${group}`)) : undefined;
        const outcome: Outcome =
            buckets === undefined
                ? { kind: "group" }
                : buckets > maxListed
                  ? { kind: "group", buckets }
                  : chosen(endpointsIn(await this.#ofctl("dump-groups", String(group))));
        this.#groups.set(group, outcome);
        return outcome;
    }

    async #flows(match: string): Promise<readonly FlowText[]> {
        return readFlows(await this.#ofctl("dump-flows", match));
    }

    #ofctl(command: string, what: string): Promise<string> {
        const options = ["--protocols=OpenFlow15", "--timeout=10", "--no-names", "--no-stats"];
        return this.#run(["ovs-ofctl", ...options, command, this.#bridge, what]);
    }
}

const protocols: readonly Protocol[] = ["TCP", "UDP", "SCTP"];

/** `tcp`, `tcp6`: a protocol and family in a match. */
function wordOf({ family, protocol }: Pick<Place, "family" | "protocol">): string {
    return `${protocol.toLowerCase()}${family === 6 ? "6" : ""}`;
}

/** Protocols and ports of an address that none of the places has. */
function otherPorts(flows: readonly FlowText[], places: readonly Place[]): readonly Pick<Place, "protocol" | "port">[] {
    const other = new Map<string, Pick<Place, "protocol" | "port">>();
    for (const flow of flows) {
        const terms = termsOf(flow);
        const protocol = protocols.find((one) => terms.has(one.toLowerCase()) || terms.has(`${one.toLowerCase()}6`));
        const port = Number(terms.get("tp_dst") ?? 0);
        if (protocol === undefined || port === 0) continue;
        if (places.some((place) => place.protocol === protocol && place.port === port)) continue;
        other.set(`${protocol} ${port}`, { protocol, port });
    }
    return [...other.values()];
}

function isNodePort(flow: FlowText): boolean {
    const terms = termsOf(flow);
    const { field } = Reg.nodePort;
    const [value = "0"] = (terms.get(field) ?? "0").split("/");
    return !terms.has("nw_dst") && !terms.has("ipv6_dst") && (Number(value) & bitOf(Reg.nodePort)) !== 0;
}

function chosen(endpoints: readonly string[]): Outcome {
    return { kind: "endpoints", endpoints };
}
