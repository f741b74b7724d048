import { crc32 } from "node:zlib";
import { formatPrefix, parsePrefix, type Prefix } from "@antrea/ip";
import { serviceNameLabel, type ServiceObjects, type SliceObject } from "@antrea/services";
import { areSlices, areTexts, isRecord, isService, type StoredSlice } from "./entry-shape.ts";

/** What a Service is from this line on, or that it is gone (undefined). */
export interface ServiceEntry {
    /** `namespace/name`. */
    readonly key: string;
    readonly known: ServiceObjects | undefined;
}

/** The Service CIDRs of the cluster from this line on. */
export interface CidrEntry {
    readonly serviceCidrs: readonly Prefix[];
}

/** A line of the journal, decoded. */
export type JournalEntry = ServiceEntry | CidrEntry;

/** A line as it is written, and the checksum in it. */
export interface Line {
    /** With its end. */
    readonly text: string;
    readonly checksum: number;
}

/** Why a line cannot be read. */
export type Unreadable = "damaged" | "other version";

/** A longer line is neither written nor read; it would be a Service of some 200,000 endpoints. */
export const maxLineBytes = 16 << 20;

const version = "1";
/** Version, checksum and content, with a space between them. */
const contentAt = 11;

/**
 * Encodes an entry: version, CRC-32 of the content in hexadecimal, content as JSON. Nothing of the objects is kept that does
 * not decide what is served. Undefined if the line would be too long.
 */
export function formatLine(entry: JournalEntry): Line | undefined {
    const content = JSON.stringify(contentOf(entry));
    if (Buffer.byteLength(content) > maxLineBytes - contentAt) return undefined;
    const checksum = crc32(content);
    return { text: `${version} ${hex(checksum)} ${content}\n`, checksum };
}

/** Decodes a line, without its end. Never throws. */
export function parseLine(line: Buffer): JournalEntry | Unreadable {
    const [found, sum] = line.toString("latin1", 0, contentAt).split(" ");
    const content = line.subarray(contentAt);
    if (found === undefined || sum !== hex(crc32(content)) || line[contentAt - 1] !== space) return "damaged";
    if (found !== version) return "other version";
    try {
        return entryOf(JSON.parse(content.toString("utf8"))) ?? "damaged";
    } catch {
        return "damaged";
    }
}

const space = 0x20;

function hex(checksum: number): string {
    return checksum.toString(16).padStart(8, "0");
}

function contentOf(entry: JournalEntry): object {
    if ("serviceCidrs" in entry) return { serviceCidrs: entry.serviceCidrs.map(formatPrefix) };
    return entry.known === undefined ? { gone: entry.key } : stored(entry.known);
}

function stored({ service, slices }: ServiceObjects): object {
    const { metadata = {}, spec, status } = service;
    const { name, namespace, uid, creationTimestamp, labels, annotations } = metadata;
    return {
        service: { metadata: { name, namespace, uid, creationTimestamp, labels, annotations }, spec, status },
        slices: slices.map(({ metadata: { name: ofSlice } = {}, addressType, endpoints, ports }) => ({
            name: ofSlice,
            addressType,
            endpoints,
            ports,
        })),
    };
}

function entryOf(value: unknown): JournalEntry | undefined {
    if (!isRecord(value)) return undefined;
    const { gone, service, serviceCidrs, slices } = value;
    if (typeof gone === "string") return { key: gone, known: undefined };
    // a text that is no prefix throws
    if (areTexts(serviceCidrs)) return { serviceCidrs: serviceCidrs.map((text) => parsePrefix(text)) };
    if (!isService(service) || !areSlices(slices)) return undefined;
    const { namespace = "", name = "" } = service.metadata ?? {};
    return {
        key: `${namespace}/${name}`,
        known: { service, slices: slices.map((slice) => sliceOf(slice, namespace, name)) },
    };
}

function sliceOf({ name, ...rest }: StoredSlice, namespace: string, service: string): SliceObject {
    return { metadata: { name, namespace, labels: { [serviceNameLabel]: service } }, ...rest };
}
