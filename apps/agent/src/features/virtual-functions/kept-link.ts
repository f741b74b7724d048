import { parseMac } from "@antrea/ip";
import type { Attachment, DeviceId } from "../../platform/pod-interfaces/index.ts";

/** What the link of a virtual function was before a Pod got it. */
export interface FormerLink {
    readonly name: string;
    /** In bytes. */
    readonly mtu: number;
    /** As text. */
    readonly mac: string;
    readonly up: boolean;
    /** "" if it had none. */
    readonly alias: string;
    /** IFLA_GROUP. */
    readonly group: number;
    readonly promiscuous: boolean;
    readonly altNames: readonly string[];
}

/** What is kept of the link of a device while a Pod has it: whose interface it is, and what it was. */
export interface KeptLink extends Attachment {
    readonly device: DeviceId;
    /** Which of the device's links it is: `port` of `DeviceLink`. */
    readonly port: string;
    /** IFLA_INFO_KIND; undefined for the link of a NIC. */
    readonly kind: string | undefined;
    readonly former: FormerLink;
}

/** A kept link with the boot in which it was kept. */
export interface StoredLink extends KeptLink {
    /** /proc/sys/kernel/random/boot_id. */
    readonly bootId: string;
}

const version = 1;

/** Encodes a kept link as JSON, readable for manual recovery, for `parseStored`. */
export function formatStored(stored: StoredLink): string {
    return `${JSON.stringify({ version, ...stored }, undefined, 1)}\n`;
}

/** Decodes what `formatStored` returned. Undefined if the text is damaged or of another version; never throws. */
export function parseStored(text: string): StoredLink | undefined {
    const fields = objectOf(text);
    const { bootId, containerId, ifName, kind, port } = fields;
    const device = readDevice(fields["device"]);
    const former = readFormer(fields["former"]);
    if (fields["version"] !== version || device === undefined || former === undefined) return undefined;
    if (!isFilled(bootId) || !isFilled(containerId) || !isFilled(ifName) || typeof port !== "string") return undefined;
    if (kind !== undefined && !isFilled(kind)) return undefined;
    return { bootId, containerId, ifName, device, port, kind, former };
}

function readDevice(value: unknown): DeviceId | undefined {
    const { bus, id } = fieldsOf(value);
    return (bus === "pci" || bus === "auxiliary") && isFilled(id) ? { bus, id } : undefined;
}

function readFormer(value: unknown): FormerLink | undefined {
    const { alias, altNames, group, mac, mtu, name, promiscuous, up } = fieldsOf(value);
    if (!isFilled(name) || typeof mac !== "string" || !isMac(mac) || typeof alias !== "string") return undefined;
    if (!isCount(mtu) || mtu === 0 || !isCount(group)) return undefined;
    if (typeof up !== "boolean" || typeof promiscuous !== "boolean") return undefined;
    if (!Array.isArray(altNames) || !altNames.every(isFilled)) return undefined;
    return { name, mtu, mac, up, alias, group, promiscuous, altNames };
}

type Fields = Readonly<Record<string, unknown>>;

function objectOf(text: string): Fields {
    try {
        return fieldsOf(JSON.parse(text));
    } catch {
        return {};
    }
}

/** Those of what is no object: none. */
function fieldsOf(value: unknown): Fields {
    return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function isCount(value: unknown): value is number {
    return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

function isFilled(value: unknown): value is string {
    return typeof value === "string" && value !== "";
}

function isMac(text: string): boolean {
    try {
        parseMac(text);
        return true;
    } catch {
        return false;
    }
}
