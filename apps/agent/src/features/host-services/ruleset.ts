import { nodePortAddress, serviceSource } from "@antrea/flows";
import { formatIp, formatPrefix, type Family, type Prefix } from "@antrea/ip";
import { serviceMark } from "../../platform/kernel-ids.ts";
import { standInAt, standInCount } from "./addresses.ts";
import { setName, setNames } from "./elements.ts";

/** The inputs of the rules; all are constant while the agent runs. */
export interface RulesetInput {
    readonly families: readonly Family[];
    /** The gateway's link, by which packets go to OVS and come back. */
    readonly gatewayName: string;
    /** `antreaProxy.nodePortAddresses`; empty: NodePorts are served at all addresses of the Node but loopback. */
    readonly nodePortAddresses: readonly Prefix[];
    /** Source ports are chosen at random (nft(8): `fully-random`). */
    readonly randomFully: boolean;
}

/** Name of the nftables table of `proxyAll`, in the family `inet`. */
export const tableName = "antrea-services";

/** The names of all sets and maps, whose elements are not in the script. */
export const allSets: readonly string[] = ([4, 6] as const).flatMap((family) =>
    setNames.map((name) => setName(name, family)),
);

const types: Readonly<Record<(typeof setNames)[number], (address: string, family: Family) => string>> = {
    /** ClusterIPs: not tracked, as a route leads them to OVS. */
    cluster: (address) => `set %s { type ${address} . inet_proto . inet_service; }`,
    /** External addresses: marked and not tracked, unless they are the Node's own. */
    external: (address) => `set %s { type ${address} . inet_proto . inet_service; }`,
    /** The same, as ICMP errors carry them. */
    errors: (_address, family) => `set %s { typeof ${carried(family, "s")}; }`,
    /** NodePorts: translated to the virtual NodePort address. */
    nodeports: () => "set %s { type inet_proto . inet_service; }",
    /** External addresses that are the Node's own: translated to their stand-ins. */
    own: (address) => `map %s { type ${address} . inet_proto . inet_service : ${address}; }`,
    /** External addresses, then NodePorts, that lead clients outside to an endpoint which is the host itself. */
    local: (address) => `map %s { type ${address} . inet_proto . inet_service : ${address} . inet_service; }`,
    localports: (address) => `map %s { type inet_proto . inet_service : ${address} . inet_service; }`,
};

/**
 * The whole table but its elements as one nft(8) script, which the kernel applies as one transaction. Its chains come
 * before those of kube-proxy, of iptables (raw -300, nat -100) or nftables. Pure function.
 */
export function ruleset(input: RulesetInput): string {
    const { families, gatewayName } = input;
    const gateway = `"${gatewayName}"`;
    // "add" before "delete": deleting a table that does not exist would fail the transaction
    const lines = [`add table inet ${tableName}`, `delete table inet ${tableName}`, `table inet ${tableName} {`];
    for (const family of [4, 6] as const) {
        for (const name of setNames)
            lines.push(`  ${types[name](`ipv${family}_addr`, family).replace("%s", setName(name, family))}`);
    }
    lines.push(
        ...chain("before-tracking", "type filter hook prerouting priority -305; policy accept;", [
            // only this Node's own translation may lead there: others would reach NodePorts past `nodePortAddresses`
            ...families.map((family) => `${ip(family)} daddr ${translated(family)} drop`),
            `iifname ${gateway} goto answers`,
            ...families.map((family) => `${triple(family)} @${setName("local", family)} accept`),
            "goto to-services",
        ]),
        // the type by which a changed mark changes the route
        ...chain("of-this-node", "type route hook output priority -305; policy accept;", ["goto to-services"]),
        ...chain(
            "to-services",
            undefined,
            families.flatMap((family) => [
                `${triple(family)} @${setName("cluster", family)} notrack`,
                `${triple(family)} @${setName("external", family)} ${marked}`,
                `${error(family)} ${carried(family, "s")} @${setName("errors", family)} ${marked}`,
            ]),
        ),
        ...chain(
            "answers",
            undefined,
            families.flatMap((family) => [
                `${triple(family, "s")} @${setName("cluster", family)} notrack`,
                `${triple(family, "s")} @${setName("external", family)} notrack`,
                `${error(family)} ${carried(family, "d")} @${setName("errors", family)} notrack`,
            ]),
        ),
        // OVS leaves the midst of a connection that it does not know to the host, as kube-proxy may have begun it. What the host
        // does not know either began in OVS, which has lost it: back by the gateway, it is reset.
        ...chain(
            "lost-connections",
            "type filter hook prerouting priority -150; policy accept;",
            families.map(
                (family) =>
                    `iifname ${gateway} ct state new tcp flags & syn == 0 ${triple(family)} @${setName("external", family)} ${toOvs}`,
            ),
        ),
        ...chain("from-outside", "type nat hook prerouting priority -110; policy accept;", [
            // what OVS has translated to an endpoint that the host has or reaches is there
            ...families.map((family) => `${ip(family)} saddr ${formatIp(serviceSource(family))} accept`),
            ...families.flatMap((family) => toHost(family, input, gateway)),
            "goto to-this-node",
        ]),
        ...chain("from-this-node", "type nat hook output priority -110; policy accept;", ["goto to-this-node"]),
        ...chain(
            "to-this-node",
            undefined,
            families.flatMap((family) => toStandIn(family, input)),
        ),
        ...chain("back-from-services", "type nat hook postrouting priority 90; policy accept;", [
            ...families.map(
                (family) =>
                    `oifname != ${gateway} ${ip(family)} saddr ${formatIp(serviceSource(family))} masquerade${input.randomFully ? " fully-random" : ""}`,
            ),
        ]),
        // the kernel datapath of OVS keeps marks: in a tunnel, or back in the host, the packet would be led to OVS again
        ...chain("into-ovs", "type filter hook postrouting priority -150; policy accept;", [
            `oifname ${gateway} meta mark and ${hexMark} != 0 meta mark set meta mark xor ${hexMark}`,
        ]),
        "}",
    );
    return `${lines.join("\n")}\n`;
}

const hexMark = `0x${serviceMark.toString(16)}`;
const toOvs = `fib daddr type != local meta mark set meta mark or ${hexMark}`;
const marked = `${toOvs} notrack`;

function chain(name: string, hook: string | undefined, rules: readonly string[]): readonly string[] {
    return [
        `  chain ${name} {`,
        ...(hook === undefined ? [] : [`    ${hook}`]),
        ...rules.map((rule) => `    ${rule}`),
        "  }",
    ];
}

function ip(family: Family): "ip" | "ip6" {
    return family === 4 ? "ip" : "ip6";
}

/** The virtual NodePort address and the stand-ins; not `serviceSource`, to which answers come through the gateway. */
function translated(family: Family): string {
    const [first, last] = [standInAt(family, 0), standInAt(family, standInCount(family) - 1)];
    return `{ ${formatIp(nodePortAddress(family))}, ${formatIp(first)}-${formatIp(last)} }`;
}

function triple(family: Family, end: "s" | "d" = "d"): string {
    return `${ip(family)} ${end}addr . meta l4proto . th ${end}port`;
}

/** ICMP errors, which carry the packet that caused them after 8 bytes (RFC 792, RFC 4443). */
function error(family: Family): string {
    return family === 4
        ? "icmp type { destination-unreachable, time-exceeded, parameter-problem }"
        : "icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem }";
}

/** Address, protocol and port of one end of that packet, if its IP header has no options or extensions; offsets in bits. */
function carried(family: Family, end: "s" | "d"): string {
    const isSource = end === "s";
    if (family === 4) return `@th,${isSource ? 160 : 192},32 . @th,136,8 . @th,${isSource ? 224 : 240},16`;
    return `@th,${isSource ? 128 : 256},128 . @th,112,8 . @th,${isSource ? 384 : 400},16`;
}

/** To an endpoint that is the host itself: only for clients outside, which the policy Local is for. */
function toHost(family: Family, input: RulesetInput, gateway: string): readonly string[] {
    return [
        `iifname != ${gateway} dnat ${ip(family)} to ${triple(family)} map @${setName("local", family)}`,
        ...atNodePorts(
            family,
            input,
            `iifname != ${gateway} dnat ${ip(family)} to meta l4proto . th dport map @${setName("localports", family)}`,
        ),
    ];
}

function toStandIn(family: Family, input: RulesetInput): readonly string[] {
    return [
        `fib daddr type local dnat ${ip(family)} to ${triple(family)} map @${setName("own", family)}`,
        ...atNodePorts(
            family,
            input,
            `meta l4proto . th dport @${setName("nodeports", family)} dnat ${ip(family)} to ${formatIp(nodePortAddress(family))}`,
        ),
    ];
}

function atNodePorts(family: Family, { nodePortAddresses }: RulesetInput, rule: string): readonly string[] {
    const named = nodePortAddresses.filter((prefix) => prefix.family === family).map(formatPrefix);
    // IPv6 link-local addresses mean nothing in OVS
    const loopback = family === 4 ? "ip daddr != 127.0.0.0/8" : "ip6 daddr != { ::1, fe80::/10 }";
    if (nodePortAddresses.length > 0 && named.length === 0) return [];
    const chosen = named.length === 0 ? "" : `${ip(family)} daddr { ${named.join(", ")} } `;
    return [`${loopback} ${chosen}fib daddr type local ${rule}`];
}
