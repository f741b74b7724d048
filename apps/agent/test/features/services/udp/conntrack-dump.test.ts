import { expect, it } from "@jest/globals";
import { formatIp } from "@antrea/ip";
import { udpConnections } from "../../../../src/features/services/udp/conntrack-dump.ts";

const text = `
tcp,orig=(src=10.10.1.2,dst=10.96.0.1,sport=1000,dport=80),reply=(src=10.10.1.3,dst=10.10.1.2,sport=8080,dport=1000),zone=65520,mark=19
udp,orig=(src=10.10.1.2,dst=10.96.0.1,sport=1001,dport=53),reply=(src=10.10.1.3,dst=10.10.1.2,sport=5353,dport=1001),zone=65520,mark=19
udp,orig=(src=fd00::2,dst=fd00:96::1,sport=1002,dport=53),reply=(src=fd00::3,dst=fd00::2,sport=5353,dport=1002),zone=65510,mark=0x13,timeout=30
udp,orig=(src=10.10.1.2,dst=10.96.0.1,sport=1003,dport=53),reply=(src=10.96.0.1,dst=10.10.1.2,sport=53,dport=1003)
udp,orig=(src=10.10.1.999,dst=10.96.0.1,sport=1003,dport=53),reply=(src=10.96.0.1,dst=10.10.1.2,sport=53,dport=1003)
icmp,orig=(src=10.10.1.2,dst=10.10.1.3,id=7,type=8,code=0),reply=(src=10.10.1.3,dst=10.10.1.2,id=7,type=0,code=0),zone=65520
ovs-vswitchd: opening datapath
`;

it("reads UDP connections and skips all else", () => {
    const found = [...udpConnections(text)].map(({ original, reply, zone, mark }) => [
        `${formatIp(original.src)} ${original.srcPort} ${formatIp(original.dst)} ${original.dstPort}`,
        `${formatIp(reply.src)} ${reply.srcPort} ${formatIp(reply.dst)} ${reply.dstPort}`,
        zone,
        mark,
    ]);
    expect(found).toEqual([
        ["10.10.1.2 1001 10.96.0.1 53", "10.10.1.3 5353 10.10.1.2 1001", 65520, 19],
        ["fd00::2 1002 fd00:96::1 53", "fd00::3 5353 fd00::2 1002", 65510, 19],
        ["10.10.1.2 1003 10.96.0.1 53", "10.96.0.1 53 10.10.1.2 1003", 0, 0],
    ]);
});

it.each<[string, string]>([
    [
        "without a port",
        "udp,orig=(src=10.0.0.1,dst=10.0.0.2,sport=1),reply=(src=10.0.0.2,dst=10.0.0.1,sport=2,dport=1)",
    ],
    ["a port", "udp,orig=(src=::1,dst=::2,sport=65536,dport=2),reply=(src=::2,dst=::1,sport=2,dport=1)"],
    ["a zone", "udp,orig=(src=::1,dst=::2,sport=1,dport=2),reply=(src=::2,dst=::1,sport=2,dport=1),zone=65536"],
    ["a mark", "udp,orig=(src=::1,dst=::2,sport=1,dport=2),reply=(src=::2,dst=::1,sport=2,dport=1),mark=0x100000000"],
    ["families", "udp,orig=(src=10.0.0.1,dst=::2,sport=1,dport=2),reply=(src=::2,dst=::1,sport=2,dport=1)"],
    ["one line", "udp,orig=(src=::1,dst=::2,sport=1,dport=2\n),reply=(src=::2,dst=::1,sport=2,dport=1)"],
])("skips what does not fit: %s", (_name, one) => {
    expect([...udpConnections(one)]).toEqual([]);
});
