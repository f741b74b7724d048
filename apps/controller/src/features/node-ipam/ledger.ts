import { gunzipSync, gzipSync } from "node:zlib";
import { formatPrefix, parsePrefix, type Prefix } from "@antrea/ip";
import { type ConfigMap } from "@antrea/kube";
import { NodeIpamError } from "./errors.ts";
import { type Ledger, type LedgerEntry } from "./types.ts";

/**
 * The writer of a ledger and the sequence number of the write, which its writer increments; a leader that reads another
 * holder has lost it.
 */
export interface LedgerStamp {
    readonly holder: string;
    readonly sequence: number;
}

// A ConfigMap holds 1 MiB; well below that the ledger is text, above it is compressed.
const maxTextBytes = 256 << 10;
const maxBytes = 1_000_000;
// More than any valid ledger; limits the memory that a hostile ConfigMap can take.
const maxInflatedBytes = 64 << 20;

type Content = Pick<ConfigMap, "data" | "binaryData">;

/**
 * The ledger as the content of a ConfigMap: `holder`, `sequence`, `next` (prefixes with commas), and one line per Node,
 * `NAME CIDR[,CIDR] [gone TIME]` with TIME in ISO 8601, under `nodes`, or compressed (gzip) under `nodes.gz` above 256
 * KiB. Throws NodeIpamError LEDGER_FULL above 1 MB compressed.
 */
export function encodeLedger(ledger: Ledger, stamp: LedgerStamp): Content {
    const lines = ledger.entries.map(({ node, text, goneAtMs }) =>
        goneAtMs === undefined ? `${node} ${text}\n` : `${node} ${text} gone ${new Date(goneAtMs).toISOString()}\n`,
    );
    const nodes = lines.join("");
    const head = {
        holder: stamp.holder,
        sequence: String(stamp.sequence),
        next: ledger.next.map(formatPrefix).join(","),
    };
    if (nodes.length <= maxTextBytes) return { data: { ...head, nodes } };
    const packed = gzipSync(nodes, { level: 1 });
    if (packed.length > maxBytes) {
        throw new NodeIpamError(
            "LEDGER_FULL",
            "environment",
            `${ledger.entries.length} Nodes do not fit into one ConfigMap (${packed.length} of ${maxBytes} bytes)`,
        );
    }
    return { data: head, binaryData: { "nodes.gz": packed.toString("base64") } };
}

/**
 * Decodes the result of `encodeLedger`; of an empty ConfigMap an empty ledger with holder "" and sequence 0. Invalid
 * entries are skipped and counted (`unreadable`): they never prevent the start.
 */
export function decodeLedger(content: Content): {
    readonly ledger: Ledger;
    readonly stamp: LedgerStamp;
    /** Number of lines that were skipped. */
    readonly unreadable: number;
} {
    const { holder = "", sequence = "0", next = "", nodes } = content.data ?? {};
    const lines = (nodes ?? unpack(content.binaryData?.["nodes.gz"])).split("\n").filter((line) => line !== "");
    const entries = lines.flatMap((line) => decodeLine(line));
    return {
        ledger: { entries, next: prefixes(next) ?? [] },
        stamp: { holder, sequence: /^\d{1,15}$/.test(sequence) ? Number(sequence) : 0 },
        unreadable: lines.length - entries.length,
    };
}

function decodeLine(line: string): readonly LedgerEntry[] {
    const [node = "", text = "", word, time = ""] = line.split(" ");
    const cidrs = prefixes(text);
    if (node === "" || cidrs === undefined || cidrs.length === 0) return [];
    if (word === undefined) return [{ node, cidrs, text }];
    const goneAtMs = Date.parse(time);
    return word === "gone" && Number.isFinite(goneAtMs) ? [{ node, cidrs, text, goneAtMs }] : [];
}

function prefixes(text: string): readonly Prefix[] | undefined {
    try {
        return text === "" ? [] : text.split(",").map((each) => parsePrefix(each));
    } catch {
        return undefined;
    }
}

function unpack(base64: string | undefined): string {
    if (base64 === undefined) return "";
    try {
        return gunzipSync(Buffer.from(base64, "base64"), { maxOutputLength: maxInflatedBytes }).toString("utf8");
    } catch {
        return "unreadable\n";
    }
}
