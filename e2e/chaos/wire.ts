import { Background, eventually, run } from "../fixture/run.ts";

/** Who says on the wire that an address is its own, and when (milliseconds as Date.now() counts). */
export interface Speech {
    readonly at: number;
    /** 0 has no tag. */
    readonly vlan: number;
    readonly address: string;
    readonly mac: string;
}

/** Two that spoke for one address in turn: the first again after the second. */
export interface Quarrel {
    readonly vlan: number;
    readonly address: string;
    readonly macs: readonly [string, string];
    readonly at: number;
}

/**
 * Frames of neighbour discovery, with a tag or without: ARP, and ICMPv6 neighbour solicitations and advertisements
 * (RFC 4861, types 135 and 136).
 */
const neighbours = "arp or (icmp6 and ip6[40] >= 135 and ip6[40] <= 136)";
const filter = `${neighbours} or (vlan and (${neighbours}))`;

/** Listens to neighbour discovery on the NIC of a Node, in and out, from the machine that the Node's container runs on. */
export class WireListener extends Background {
    private constructor(pid: string, device: string) {
        // by default a place in the kernel's ring is so large that there are eight of them
        const ring = ["-s", "256", "-B", "4096", "--immediate-mode"];
        super("nsenter", [
            ...["-t", pid, "-n", "tcpdump", "-Z", "root", "-i", device, ...ring],
            ...["-e", "-nn", "-tt", "-l", filter],
        ]);
    }

    static async on(node: string, device: string): Promise<WireListener> {
        const pid = (await run("docker", ["inspect", "--format", "{{.State.Pid}}", node])).trim();
        const listener = new WireListener(pid, device);
        await eventually(`tcpdump listens on ${node}`, () =>
            Promise.resolve(listener.output.includes("listening on") || undefined),
        );
        return listener;
    }

    get speeches(): readonly Speech[] {
        return this.output.split("\n").flatMap((line) => readSpeech(line) ?? []);
    }
}

/** Reads a line of tcpdump; undefined for frames by which nobody says that an address is its own. */
export function readSpeech(line: string): Speech | undefined {
    const [, seconds, mac = ""] = /^(\d+\.\d+) ([0-9a-f:]{17}) > /.exec(line) ?? [];
    if (seconds === undefined) return undefined;
    const address =
        /who-has \S+(?: \(\S+\))? tell ([\d.]+),/.exec(line)?.[1] ??
        / Reply ([\d.]+) is-at /.exec(line)?.[1] ??
        /neighbor advertisement, tgt is ([0-9a-f:]+)/.exec(line)?.[1] ??
        / ([0-9a-f:]+) > [0-9a-f:]+: ICMP6, neighbor solicitation/.exec(line)?.[1];
    // who asks whether an address is free has none yet (RFC 5227 section 1.1, RFC 4862 section 5.4)
    if (address === undefined || address === "0.0.0.0" || address === "::") return undefined;
    return { at: Number(seconds) * 1000, vlan: Number(/: vlan (\d+),/.exec(line)?.[1] ?? 0), address, mac };
}

/** What is seen of one frame on two Nodes may differ by less than this. */
const sameFrameMs = 50;

/**
 * Quarrels among what was heard. That an address goes from one MAC address to another is no quarrel: a Pod ends and the
 * next one gets it, or it moves. That the first comes back after the second has spoken is one, since each Pod has a MAC
 * address of its own.
 */
export function findQuarrels(heard: readonly Speech[]): readonly Quarrel[] {
    const quarrels: Quarrel[] = [];
    const holders = new Map<string, Map<string, number>>();
    for (const { at, vlan, address, mac } of heard.toSorted((one, other) => one.at - other.at)) {
        const key = `${vlan} ${address}`;
        const last = holders.get(key) ?? new Map<string, number>();
        holders.set(key, last);
        const before = last.get(mac);
        if (before !== undefined) {
            const rival = [...last].find(
                ([other, spoke]) => other !== mac && spoke > before && at - spoke > sameFrameMs,
            );
            if (rival !== undefined) quarrels.push({ vlan, address, macs: [mac, rival[0]], at });
        }
        last.set(mac, at);
    }
    return quarrels;
}
