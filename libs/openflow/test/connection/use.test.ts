import { describe, expect, it } from "@jest/globals";
import { OpenFlowConnection } from "../../src/connection/index.ts";
import { bytes } from "../fixtures.ts";
import { errorFrame, Peer, until } from "./peer.ts";

/** The entries of a logger. */
function recorder() {
    const lines: unknown[] = [];
    const at =
        (level: string) =>
        (message: string, fields?: object): void =>
            void lines.push([level, message, fields]);
    return { lines, logger: { debug: at("debug"), info: at("info"), warn: at("warn") } };
}

describe("OpenFlowConnection", () => {
    it("asks for whole packet-ins under its controller's id, and logs what it is connected to", async () => {
        const { lines, logger } = recorder();
        await using peer = await Peer.start();
        const connection = new OpenFlowConnection({ logger }, { socketPath: peer.path, controllerId: 3 });
        connection.start(new AbortController().signal);
        await connection.barrier();
        // Hello; packet-in format and controller id (Nicira's); set config; features; the barrier.
        const types = peer.received.map((message) => (message.type === "unknown" ? message.messageType : message.type));
        expect(types).toEqual(["hello", 4, 4, 9, "features_request", "barrier_request"]);
        expect(lines).toEqual([["info", "OpenFlow connection ready", { datapathId: "000000000000002a" }]]);
        expect(() => connection.start(new AbortController().signal)).toThrow("started a second time");
        await connection.close();
        expect(lines).toHaveLength(1);
    });

    it("lists ports", async () => {
        await using peer = await Peer.start();
        const connection = peer.connection();
        connection.start(new AbortController().signal);
        await connection.barrier();
        peer.script = (message, socket) => {
            const xid = message.xid.toString(16).padStart(8, "0");
            const port = `00000007002800000a0b0c0d0e0f0000${"7030".padEnd(32, "0")}0000000100000004`;
            return socket.write(bytes(`06130038${xid}000d000000000000${port}`));
        };
        expect(await connection.ports()).toEqual([
            { port: 7, mac: bytes("0a0b0c0d0e0f"), name: "p0", config: 1, state: 4 },
        ]);
        await connection.close();
    });

    it("sends a packet-out, and logs that the switch refused it", async () => {
        const { lines, logger } = recorder();
        await using peer = await Peer.start();
        const connection = new OpenFlowConnection({ logger }, { socketPath: peer.path });
        connection.start(new AbortController().signal);
        await connection.barrier();
        peer.script = (message, socket) =>
            message.type === "packet_out" && socket.write(errorFrame(message.xid, 1, 11));
        const packet = { inPort: 1, data: new Uint8Array(14), actions: [] };
        connection.packetOut(packet);
        await until(() => lines.length === 2);
        expect(peer.received.at(-1)).toMatchObject({ type: "packet_out", packet });
        expect(lines[1]).toEqual([
            "warn",
            "message rejected by the switch",
            { error: "OFPBRC_BAD_PORT", xid: peer.received.at(-1)?.xid },
        ]);
        await connection.close();
        expect(() => connection.packetOut(packet)).toThrow(expect.objectContaining({ code: "NOT_CONNECTED" }));
    });

    it("calls no listener that was disposed: no replay at the next connection, no packet-in", async () => {
        await using peer = await Peer.start();
        const connection = peer.connection();
        const calls: string[] = [];
        const disposed = [
            connection.onReady(() => void calls.push("disposed replay")),
            connection.onPacketIn(() => void calls.push("disposed packet-in")),
        ];
        connection.onReady(() => void calls.push("replay"));
        connection.onPacketIn(() => void calls.push("packet-in"));
        for (const each of disposed) each[Symbol.dispose]();
        connection.start(new AbortController().signal);
        await connection.barrier();
        const packet = new Uint8Array(40);
        packet.set(bytes("0604002800000000000023200000001e0000000600aa0000000300050700000000050005010000"));
        for (const socket of peer.sockets) socket.write(packet);
        await until(() => calls.length === 2);
        expect(calls).toEqual(["replay", "packet-in"]);
        await connection.close();
    });

    it("ends with the signal that it was started with, and reports nothing of that", async () => {
        const { lines, logger } = recorder();
        await using peer = await Peer.start();
        const connection = new OpenFlowConnection({ logger }, { socketPath: peer.path });
        const stop = new AbortController();
        connection.start(stop.signal);
        await connection.barrier();
        peer.script = () => true;
        const waiting = connection.barrier();
        const reason = new Error("why");
        stop.abort(reason);
        await expect(waiting).rejects.toMatchObject({ code: "ABORTED", fault: "aborted" });
        await until(() => connection.state.kind === "closed");
        await expect(connection.barrier()).rejects.toMatchObject({ code: "ABORTED", cause: reason });
        expect(lines).toHaveLength(1);
    });

    it("reports where no switch listens", async () => {
        const { lines, logger } = recorder();
        const connection = new OpenFlowConnection({ logger }, { socketPath: "/nowhere/br.mgmt" });
        connection.start(new AbortController().signal);
        await until(() => lines.length === 1);
        expect(lines).toEqual([
            [
                "warn",
                "no OpenFlow connection",
                { error: expect.stringContaining("no connection to /nowhere/br.mgmt; is ovs-vswitchd up?") },
            ],
        ]);
        await connection.close();
    });
});
