import { expect } from "@jest/globals";
import { type TestSwitch } from "./switch.ts";

/** Connection tracking states of a packet that begins a connection, belongs to one, answers in one. */
export const fresh = ["trk,new"];
export const known = ["trk,est"];
export const answer = ["trk,est,rpl"];

/** name, packet, conntrack's answers, what leaves (or "drop"), a part of the datapath actions. */
export type Row = readonly [name: string, packet: string, ct: readonly string[], expected: string, actions?: string];

/**
 * Traces a packet and compares. What leaves are names of ports in the order of the actions, or, as `frames`, the ports with
 * the tags of the frames ("p", "uplink@2"), sorted.
 */
export async function checkRow(
    ovs: TestSwitch,
    [, packet, ct, expected, actions = ""]: Row,
    leaving: "outputs" | "frames" = "outputs",
): Promise<void> {
    const trace = await ovs.trace(packet, ct);
    const left = leaving === "outputs" ? trace.outputs : trace.frames.toSorted();
    const seen = left.length === 0 ? "drop" : left.join(" ");
    if (seen !== expected || !trace.actions.includes(actions)) process.stderr.write(`${trace.text}\n`);
    expect(seen).toBe(expected);
    expect(trace.actions).toContain(actions);
}
