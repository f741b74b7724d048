import { describe, expect, it } from "@jest/globals";
import { type OpenFlowConnection } from "../../src/connection/index.ts";
import { bytes, groupMessages } from "../fixtures.ts";
import { errorFrame, Peer } from "./peer.ts";

/** A connection that is ready, and its remote end with what it has received since. */
async function connected(): Promise<
    AsyncDisposable & { readonly peer: Peer; readonly connection: OpenFlowConnection }
> {
    const peer = await Peer.start();
    const connection = peer.connection();
    connection.start(new AbortController().signal);
    await connection.barrier();
    peer.received.length = 0;
    return {
        peer,
        connection,
        [Symbol.asyncDispose]: async () => {
            await connection.close();
            await peer[Symbol.asyncDispose]();
        },
    };
}

/** Makes the peer answer the next request with what a switch answered to the command of this name. */
function answerWith(peer: Peer, name: string): void {
    const answer = groupMessages.find((message) => message.name === name && message.from === "switch")?.hex ?? "";
    peer.script = (message, socket) => {
        const xid = message.xid.toString(16).padStart(8, "0");
        return socket.write(bytes(answer.slice(0, 8) + xid + answer.slice(16)));
    };
}

describe("groups, meters and flushes of a connection", () => {
    it("reads groups, counters and meters", async () => {
        await using live = await connected();
        const { peer, connection } = live;
        answerWith(peer, "one-group");
        expect(await connection.dumpGroups(1048577)).toMatchObject([
            { id: 1048577, buckets: [{ id: 7 }, { weight: 2 }] },
        ]);
        answerWith(peer, "group-stats");
        expect((await connection.groupCounters()).map(({ id }) => id)).toContain(1048577);
        answerWith(peer, "meters");
        expect(await connection.dumpMeters()).toEqual([{ id: 7, unit: "packets", rate: 500 }]);
    });

    it("ignores an answer of another kind, as of a switch that counts where it should describe", async () => {
        await using live = await connected();
        for (const name of ["meters", "group-stats"]) {
            answerWith(live.peer, name);
            expect(await live.connection.dumpGroups()).toEqual([]);
        }
        answerWith(live.peer, "groups");
        expect(await live.connection.groupCounters()).toEqual([]);
        expect(await live.connection.dumpMeters()).toEqual([]);
    });

    it("changes a meter, which a barrier confirms", async () => {
        await using live = await connected();
        const mod = { command: "add", meter: { id: 7, unit: "packets", rate: 1000 } } as const;
        await live.connection.changeMeter(mod);
        expect(live.peer.received).toMatchObject([{ type: "meter_mod", mod }, { type: "barrier_request" }]);
        live.peer.script = (message, socket) =>
            message.type === "meter_mod" && socket.write(errorFrame(message.xid, 12, 1));
        await expect(live.connection.changeMeter(mod)).rejects.toMatchObject({
            code: "REFUSED",
            message: "add meter 7: the switch refused it with OFPMMFC_METER_EXISTS",
        });
        await live.connection.barrier();
    });

    it("flushes connections with one message each and one barrier; without any nothing is sent", async () => {
        await using live = await connected();
        await live.connection.flushConnections([]);
        expect(live.peer.received).toEqual([]);
        await live.connection.flushConnections([{ zone: 1 }, { zone: 2 }]);
        expect(live.peer.types()).toEqual(["unknown", "unknown", "barrier_request"]);
        const [first, second, barrier] = live.peer.received.map(({ xid }) => xid);
        expect([second, barrier]).toEqual([Number(first) + 1, Number(first) + 2]);
        live.peer.script = (message, socket) =>
            message.xid === Number(first) + 4 && socket.write(errorFrame(message.xid, 1, 1));
        await expect(live.connection.flushConnections([{ zone: 1 }, { zone: 2 }])).rejects.toMatchObject({
            code: "REFUSED",
            message: "flush of 2 tuples of conntrack: the switch refused it with OFPBRC_BAD_TYPE",
        });
        await expect(live.connection.flushConnections([{ zone: 1, protocol: 0 }])).rejects.toMatchObject({
            code: "BAD_VALUE",
        });
    });

    it("sends a bundle of groups and flows in the order given", async () => {
        await using live = await connected();
        await live.connection.bundle([
            { command: "add", group: { id: 1, type: "select", buckets: [] } },
            { command: "add", flow: { table: 0, priority: 1, match: {}, actions: [{ type: "group", group: 1 }] } },
            { command: "delete", group: { id: 2 } },
        ]);
        const inside = live.peer.received.flatMap((message) =>
            message.type === "bundle_add" ? [message.message] : [],
        );
        expect(inside.map(({ type }) => type)).toEqual(["group_mod", "flow_mod", "group_mod"]);
    });
});
