import { IpError, parseIp, type IpAddress } from "@antrea/ip";

/** One direction of a connection. */
export interface Tuple {
    readonly src: IpAddress;
    readonly dst: IpAddress;
    readonly srcPort: number;
    readonly dstPort: number;
}

/** A connection of the datapath's connection tracker. */
export interface Connection {
    /** The packets of the side that began, before translation. */
    readonly original: Tuple;
    /** Those that answer, as they come. */
    readonly reply: Tuple;
    readonly zone: number;
    /** 0 without one. */
    readonly mark: number;
}

const line = /^udp,orig=\(([^)]*)\),reply=\(([^)]*)\)(.*)$/;

/** Reads the UDP connections from the answer to `dpctl/dump-conntrack` (ovs-dpctl(8)); lines that are no such are skipped. */
export function* udpConnections(text: string): Generator<Connection> {
    for (const found of text.matchAll(new RegExp(line, "gm"))) {
        const [, originalText = "", replyText = "", rest = ""] = found;
        const [original, reply] = [tupleOf(originalText), tupleOf(replyText)];
        if (original === undefined || reply === undefined) continue;
        yield { original, reply, zone: numberIn(rest, "zone"), mark: numberIn(rest, "mark") };
    }
}

function tupleOf(text: string): Tuple | undefined {
    const fields = new Map(text.split(",").map((part) => part.split("=", 2) as [string, string]));
    try {
        return {
            src: parseIp(fields.get("src") ?? ""),
            dst: parseIp(fields.get("dst") ?? ""),
            srcPort: Number(fields.get("sport")),
            dstPort: Number(fields.get("dport")),
        };
    } catch (error) {
        if (error instanceof IpError) return undefined;
        throw error;
    }
}

function numberIn(text: string, name: string): number {
    return Number(new RegExp(`,${name}=(0x[0-9a-f]+|\\d+)`).exec(text)?.[1] ?? 0);
}
