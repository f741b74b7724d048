import { pidOfContainer } from "../fixture/containers.ts";
import { Background, eventually } from "../fixture/run.ts";

/** Who says on the wire that an address is its own, and when (milliseconds as Date.now() counts). */
export interface Speech {
    readonly at: number;
    /** Whose NIC the frame left: two Pods with one IPv4 address have one MAC address, as that is made of it. */
    readonly node: string;
    /** 0 has no tag. */
    readonly vlan: number;
    readonly address: string;
    readonly mac: string;
    /** Nobody had asked: a Pod that is new here says so of its addresses (RFC 5227 section 2.3, RFC 4861 section 7.2.6). */
    readonly announces: boolean;
}

/** Two that spoke for one address in turn: the first again after the second. */
export interface Quarrel {
    readonly vlan: number;
    readonly address: string;
    /** Node and MAC address of each, and when it spoke: the first before, the second, and the first again. */
    readonly frames: readonly { readonly by: string; readonly at: number }[];
}

/**
 * Frames of neighbour discovery, with a tag or without: ARP, and ICMPv6 neighbour solicitations and advertisements
 * (RFC 4861, types 135 and 136).
 */
const neighbours = "arp or (icmp6 and ip6[40] >= 135 and ip6[40] <= 136)";
const filter = `${neighbours} or (vlan and (${neighbours}))`;

/** Listens to neighbour discovery that leaves the NIC of a Node, from the machine that the Node's container runs on. */
export class WireListener extends Background {
    readonly #node: string;

    private constructor(node: string, pid: string, device: string) {
        // by default a place in the kernel's ring is so large that there are eight of them
        const ring = ["-s", "256", "-B", "4096", "--immediate-mode"];
        super("nsenter", [
            "-t",
            pid,
            "-n",
            "tcpdump",
            "-Z",
            "root",
            "-i",
            device,
            ...ring,
            "-Q",
            "out",
            "-e",
            "-nn",
            "-tt",
            "-l",
            filter,
        ]);
        this.#node = node;
    }

    static async on(node: string, device: string): Promise<WireListener> {
        const listener = new WireListener(node, await pidOfContainer(node), device);
        await eventually(`tcpdump listens on ${node}`, () =>
            Promise.resolve(listener.output.includes("listening on") || undefined),
        );
        return listener;
    }

    get speeches(): readonly Speech[] {
        return this.output.split("\n").flatMap((line) => readSpeech(this.#node, line) ?? []);
    }
}

/** Reads a line of tcpdump; undefined for frames by which nobody says that an address is its own. */
export function readSpeech(node: string, line: string): Speech | undefined {
    const [, seconds, mac = ""] = /^(\d+\.\d+) ([0-9a-f:]{17}) > /.exec(line) ?? [];
    if (seconds === undefined) return undefined;
    const address =
        /who-has \S+(?: \(\S+\))? tell ([\d.]+),/.exec(line)?.[1] ??
        / Reply ([\d.]+) is-at /.exec(line)?.[1] ??
        /neighbor advertisement, tgt is ([0-9a-f:]+)/.exec(line)?.[1] ??
        / ([0-9a-f:]+) > [0-9a-f:]+: ICMP6, neighbor solicitation/.exec(line)?.[1];
    // who asks whether an address is free has none yet (RFC 5227 section 1.1, RFC 4862 section 5.4)
    if (address === undefined || address === "0.0.0.0" || address === "::") return undefined;
    const vlan = Number(/: vlan (\d+),/.exec(line)?.[1] ?? 0);
    const announces = line.includes(`who-has ${address} tell ${address},`) || / > ff02::1: .* advertisement/.test(line);
    return { at: Number(seconds) * 1000, node, vlan, address, mac, announces };
}

/** What a Pod sent that has just ended may leave so much later. */
const onItsWayMs = 50;

/**
 * Quarrels among what was heard. That an address goes from one to the next is no quarrel: a Pod ends and another one gets
 * it, or it moves. That the first comes back after the second has spoken is one, unless it announces itself as a new Pod does.
 */
export function findQuarrels(heard: readonly Speech[]): readonly Quarrel[] {
    const quarrels: Quarrel[] = [];
    const speakers = new Map<string, Map<string, number>>();
    for (const { at, node, vlan, address, mac, announces } of heard.toSorted((one, other) => one.at - other.at)) {
        const [key, by] = [`${vlan} ${address}`, `${node} ${mac}`];
        const last = speakers.get(key) ?? new Map<string, number>();
        speakers.set(key, last);
        const before = last.get(by);
        if (before !== undefined && !announces) {
            const rival = [...last].find(([other, spoke]) => other !== by && spoke > before && at - spoke > onItsWayMs);
            if (rival !== undefined) {
                const frames = [
                    { by, at: before },
                    { by: rival[0], at: rival[1] },
                    { by, at },
                ];
                quarrels.push({ vlan, address, frames });
            }
        }
        last.set(by, at);
    }
    return quarrels;
}
