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

const line = /^udp,orig=\(([^)\n]*)\),reply=\(([^)\n]*)\)(.*)$/gm;
const maxNumber16 = 0xffff;
const maxNumber32 = 0xffff_ffff;

/**
 * Reads the UDP connections from the answer to `dpctl/dump-conntrack` (ovs-dpctl(8)); lines that are no such are skipped,
 * also those with a number that does not fit its field.
 */
export function* udpConnections(text: string): Generator<Connection> {
    for (const found of text.matchAll(line)) {
        const [, originalText = "", replyText = "", rest = ""] = found;
        const [original, reply] = [tupleOf(originalText), tupleOf(replyText)];
        const [zone, mark] = [numberIn(rest, "zone", maxNumber16), numberIn(rest, "mark", maxNumber32)];
        if (original === undefined || reply === undefined || zone === undefined || mark === undefined) continue;
        if (original.src.family === reply.src.family) yield { original, reply, zone, mark };
    }
}

function tupleOf(text: string): Tuple | undefined {
    const fields = new Map(text.split(",").map((part) => part.split("=", 2) as [string, string]));
    const [srcPort, dstPort] = [portOf(fields.get("sport")), portOf(fields.get("dport"))];
    if (srcPort === undefined || dstPort === undefined) return undefined;
    try {
        const [src, dst] = [parseIp(fields.get("src") ?? ""), parseIp(fields.get("dst") ?? "")];
        return src.family === dst.family ? { src, dst, srcPort, dstPort } : undefined;
    } catch (error) {
        if (error instanceof IpError) return undefined;
        throw error;
    }
}

function portOf(text = ""): number | undefined {
    return /^\d{1,5}$/.test(text) ? upTo(maxNumber16, Number(text)) : undefined;
}

/** 0 without the field; undefined for a number that is too large. */
function numberIn(text: string, name: string, max: number): number | undefined {
    return upTo(max, Number(new RegExp(`,${name}=(0x[0-9a-f]+|\\d+)`).exec(text)?.[1] ?? 0));
}

function upTo(max: number, number: number): number | undefined {
    return number <= max ? number : undefined;
}
