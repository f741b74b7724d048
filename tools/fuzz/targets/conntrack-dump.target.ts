import { udpConnections } from "@antrea/agent/features/services/udp/conntrack-dump";
import { formatIp } from "@antrea/ip";
import { mustEqual, type Target } from "../target.ts";

const orig = "orig=(src=10.10.1.2,dst=10.96.0.1,sport=1001,dport=53)";
const reply = "reply=(src=10.10.1.3,dst=10.10.1.2,sport=5353,dport=1001)";
const udp6 =
    "udp,orig=(src=fd00::2,dst=fd00:96::1,sport=1002,dport=53),reply=(src=fd00::3,dst=fd00::2,sport=5353,dport=1002)";

type Connection = ReturnType<typeof udpConnections> extends Generator<infer C> ? C : never;

/** What ovs-vswitchd prints of the connections that Pods and clients outside begin. */
export const target: Target = {
    format: "text",
    // Large enough for a time that grows with the square of the length.
    maxBytes: 40_000,
    seeds: () => [
        `udp,${orig},${reply},zone=65520,mark=19\n`,
        `${udp6},zone=65510,mark=0x13,timeout=30\ntcp,${orig},${reply},zone=1\n`,
        `icmp,orig=(src=10.10.1.2,dst=10.10.1.3,id=7,type=8,code=0),${reply}\nudp,${orig},${reply}\n`,
        "udp,orig=(".repeat(4_000),
    ],
    tokens: ["udp,orig=(", "),reply=(", "src=", ",dst=", ",sport=", ",dport=", ",zone=", ",mark=0x", "::ffff:10.0.0.1"],
    run: (input) => {
        const found = [...udpConnections(new TextDecoder().decode(input))];
        mustEqual("connections written and read", [...udpConnections(found.map(lineOf).join("\n"))], found);
    },
    isRefusal: () => false,
};

function lineOf({ original, reply: back, zone, mark }: Connection): string {
    const [one, other] = [original, back].map(
        ({ src, dst, srcPort, dstPort }) =>
            `(src=${formatIp(src)},dst=${formatIp(dst)},sport=${srcPort},dport=${dstPort})`,
    );
    return `udp,orig=${one},reply=${other},zone=${zone},mark=${mark}`;
}
