import { readFileSync } from "node:fs";

/** A flow in ovs-ofctl's syntax and the message that ovs-ofctl made of it. */
export interface FlowModFixture {
    readonly flow: string;
    readonly hex: string;
}

/** A message between ovs-ofctl and ovs-vswitchd, under the name of the command that caused it. */
export interface MessageFixture {
    readonly name: string;
    readonly from: "ofctl" | "switch";
    readonly hex: string;
}

/** A change of a group in ovs-ofctl's syntax and the message that ovs-ofctl made of it. */
export interface GroupModFixture {
    readonly group: string;
    readonly hex: string;
}

/** A field as ovs-fields(7) describes it. */
export interface ManualField {
    /** Its names in ovs-ofctl, separated by spaces. */
    readonly names: string;
    readonly bits: number;
    readonly format: string;
    readonly maskable: boolean;
    readonly prerequisites: string;
    readonly writable: boolean;
    /** Its names of the wire, such as NXM_NX_REG0, with their numbers. */
    readonly codes: Readonly<Record<string, number>>;
}

export const flowMods = read<FlowModFixture>("flow-mods");
export const messages = read<MessageFixture>("messages");
export const groupMods = read<GroupModFixture>("group-mods");
export const groupMessages = read<MessageFixture>("group-messages");
export const fieldManual = read<ManualField>("fields");

export function bytes(hex: string): Uint8Array {
    return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export function hex(data: Uint8Array): string {
    return Buffer.from(data).toString("hex");
}

function read<T>(name: string): readonly T[] {
    return JSON.parse(readFileSync(`${import.meta.dirname}/fixtures/${name}.json`, "utf8")) as T[];
}
