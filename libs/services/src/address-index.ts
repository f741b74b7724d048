import { formatIp, parsePrefix, prefixRange, RangeIndex, rangeOf, type IpAddress, type IpRange } from "@antrea/ip";
import { type NodeObject } from "./objects.ts";
import { type AddressUse } from "./plan.ts";

/**
 * Which Services have which ClusterIPs and external addresses, and which Nodes have which podCIDRs. Each change returns
 * the keys of the Services with an external address that may be allowed now, or no longer.
 */
export class AddressIndex implements AddressUse {
    /** By the text of an address the key of its Service; of several the sorted keys. */
    readonly #clusterIps = new Map<string, string | readonly string[]>();
    readonly #external = new RangeIndex<undefined>();
    readonly #podCidrs = new RangeIndex<string>();
    readonly #byNode = new Map<string, readonly string[]>();

    podCidrOf(ip: IpAddress): string | undefined {
        const [first, ...rest] = this.#podCidrs.overlapping(rangeOf(ip));
        // by name, as the order in which Nodes came must not matter
        return rest.reduce((least, one) => (least !== undefined && least.key < one.key ? least : one), first)?.value;
    }

    clusterIpOf(ip: IpAddress, key: string): string | undefined {
        return this.#holders(formatIp(ip)).find((holder) => holder !== key);
    }

    /** Replaces the ClusterIPs of a Service, which were `before`, and its external addresses. */
    setService(
        key: string,
        { before, after, external }: Readonly<Record<"before" | "after" | "external", readonly IpAddress[]>>,
    ): ReadonlySet<string> {
        if (external.length === 0) this.#external.delete(key);
        else this.#external.set(key, rangesOf(external), undefined);
        for (const ip of before) this.#change(ip, (holders) => holders.filter((holder) => holder !== key));
        for (const ip of after) this.#change(ip, (holders) => [...holders, key].sort());
        return this.#withExternal(rangesOf([...before, ...after]));
    }

    /** Replaces the podCIDRs of a Node; undefined: the Node is gone. Those that cannot be read have no effect. */
    setNode(name: string, node: NodeObject | undefined): ReadonlySet<string> {
        const { podCIDR, podCIDRs = podCIDR === undefined ? [] : [podCIDR] } = node?.spec ?? {};
        const before = this.#byNode.get(name) ?? [];
        if (before.join() === podCIDRs.join()) return new Set();
        const ranges = podCIDRs.flatMap(readRange);
        if (ranges.length === 0) this.#podCidrs.delete(name);
        else this.#podCidrs.set(name, ranges, `podCIDR of the Node ${name}`);
        if (podCIDRs.length === 0) this.#byNode.delete(name);
        else this.#byNode.set(name, podCIDRs);
        return this.#withExternal([...before.flatMap(readRange), ...ranges]);
    }

    #change(ip: IpAddress, change: (holders: readonly string[]) => readonly string[]): void {
        const text = formatIp(ip);
        const holders = change(this.#holders(text));
        const [first] = holders;
        if (first === undefined) this.#clusterIps.delete(text);
        else this.#clusterIps.set(text, holders.length === 1 ? first : holders);
    }

    #holders(text: string): readonly string[] {
        const holders = this.#clusterIps.get(text) ?? [];
        return typeof holders === "string" ? [holders] : holders;
    }

    #withExternal(ranges: readonly IpRange[]): ReadonlySet<string> {
        return new Set(ranges.flatMap((range) => this.#external.overlapping(range).map(({ key }) => key)));
    }
}

function rangesOf(ips: readonly IpAddress[]): readonly IpRange[] {
    return ips.map((ip) => rangeOf(ip));
}

function readRange(text: string): readonly IpRange[] {
    try {
        return [prefixRange(parsePrefix(text, { hostBits: "mask" }))];
    } catch {
        return [];
    }
}
