import { beforeEach, describe, expect, it } from "@jest/globals";
import { rejectUserdata } from "@antrea/flows";
import { OpenFlowError, Port, type MeterMod, type PacketIn, type PacketOut } from "@antrea/openflow";
import { ensureRejectMeter } from "../../../../src/features/services/rejects/meter.ts";
import { Rejects } from "../../../../src/features/services/rejects/rejects.ts";
import { listLogger, silentLogger, type LogEntry } from "../../../support/logger.ts";

const syn = Uint8Array.from(
    Buffer.from(
        "0a580a0a01010a580a0a01020800" +
            "450000280007400040060000" +
            "0a0a01020a60000a" +
            "9c400050000003e8000000005002fa0000000000",
        "hex",
    ),
);
let sent: PacketOut[];
let counted: number[];
let logged: LogEntry[];
let failure: Error | undefined;
let rejects: Rejects;

beforeEach(() => {
    [sent, counted, logged, failure] = [[], [], [], undefined];
    rejects = new Rejects({
        packetOut: (packet) => {
            if (failure !== undefined) throw failure;
            sent.push(packet);
        },
        logger: listLogger(logged),
        onRejected: (family) => void counted.push(family),
    });
});

const packetIn = (more: Partial<PacketIn> = {}): PacketIn => ({
    data: syn,
    totalLength: syn.length,
    table: 46,
    cookie: 0n,
    reason: 1,
    metadata: { in_port: 32_784 },
    userdata: rejectUserdata,
    ...more,
});

describe("rejects", () => {
    it("answer at the port where the packet came from", () => {
        rejects.handle(packetIn());
        expect(sent).toMatchObject([{ inPort: Port.CONTROLLER, actions: [{ type: "output", port: 32_784 }] }]);
        expect(counted).toEqual([4]);
    });

    it.each<[string, Partial<PacketIn>]>([
        ["other userdata", { userdata: Uint8Array.of(5) }],
        ["more userdata", { userdata: Uint8Array.of(4, 0) }],
        ["no port", { metadata: {} }],
        ["half a packet", { data: syn.subarray(0, 30) }],
    ])("ignore packets with %s", (_name, more) => {
        rejects.handle(packetIn(more));
        expect([sent, counted, logged]).toEqual([[], [], []]);
    });

    it("ignore packets without userdata", () => {
        const { userdata: _, ...without } = packetIn();
        rejects.handle(without);
        expect(sent).toEqual([]);
    });

    it("log what cannot be sent, and do not count it", () => {
        failure = new OpenFlowError("NOT_CONNECTED", "environment", "away");
        rejects.handle(packetIn());
        expect(counted).toEqual([]);
        expect(logged).toMatchObject([{ level: "debug", fields: { port: 32_784, reason: "away" } }]);
    });
});

describe("the meter of rejects", () => {
    const link = (known: readonly number[], error?: Error) => {
        const mods: MeterMod[] = [];
        return {
            mods,
            dumpMeters: () => Promise.resolve(known.map((id) => ({ id, unit: "packets" as const, rate: 5 }))),
            changeMeter: (mod: MeterMod) => {
                mods.push(mod);
                return error === undefined ? Promise.resolve() : Promise.reject(error);
            },
        };
    };

    it.each([
        ["is added", [], "add"],
        ["is added beside another one", [2], "add"],
        ["is corrected", [1], "modify"],
    ])("%s", async (_name, known, command) => {
        const one = link(known);
        expect(await ensureRejectMeter(one, silentLogger)).toBe(true);
        expect(one.mods).toEqual([{ command, meter: { id: 1, unit: "packets", rate: 1_000 } }]);
    });

    it("that the datapath refuses is logged, and all else goes on", async () => {
        const refused = link([], new OpenFlowError("REFUSED", "remote", "no meters"));
        expect(await ensureRejectMeter(refused, listLogger(logged))).toBe(false);
        expect(logged).toMatchObject([{ level: "error", fields: { reason: "no meters" } }]);
    });

    it("that could not be sent fails the replay", async () => {
        const error = new OpenFlowError("DISCONNECTED", "environment", "away");
        await expect(ensureRejectMeter(link([], error), silentLogger)).rejects.toBe(error);
    });
});
