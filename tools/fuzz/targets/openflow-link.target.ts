import { Duplex } from "node:stream";
import { type Socket } from "node:net";
import { defaultConnectionOptions } from "@antrea/openflow/connection";
import { Link } from "@antrea/openflow/fuzzing";
import { OpenFlowError } from "@antrea/openflow";
import { chunks, fileText, fromHex } from "../fixture.ts";
import { BrokenProperty, isTypedRefusal, type Target } from "../target.ts";

const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** A complete connection whose switch sends arbitrary messages while requests are in progress. */
export const target: Target = {
    seeds: () => {
        const all = ["messages", "group-messages"].flatMap(
            (name) =>
                JSON.parse(fileText(`libs/openflow/test/fixtures/${name}.json`)) as readonly {
                    from: string;
                    hex: string;
                }[],
        );
        const sent = all.filter(({ from, hex }) => from === "switch" && hex.length < 2_000).map(({ hex }) => hex);
        // Answers to the requests below have xids from 2 on, that for groups has 8, that for their counters 9.
        const answers = sent.flatMap((hex) =>
            [2, 3, 4, 5, 8, 9].map((xid) => hex.slice(0, 8) + `0000000${xid}` + hex.slice(16)),
        );
        return [...answers.map(fromHex), fromHex(sent.slice(0, 12).join(""))];
    },
    run: async (input) => {
        const socket = new Duplex({ read: ignore, write: (_chunk, _encoding, done) => done() });
        const options = { ...defaultConnectionOptions, socketPath: "" };
        const link = new Link({ logger, onPacketIn: ignore }, options as never, socket as Socket);
        const asked = [
            link.barrier(),
            link.dumpFlows({}, {}),
            link.ports(),
            link.bundle([{ command: "add", flow: { table: 0, priority: 1, match: {}, actions: [] } }]),
            link.dumpGroups(),
            link.groupCounters(),
        ].map((answer) => answer.catch((error: unknown) => refusalOrThrow(error)));
        for (const chunk of chunks(input)) if (!socket.destroyed) socket.emit("data", chunk);
        link.destroy(new OpenFlowError("DISCONNECTED", "environment", "the end of the input"));
        await Promise.all(asked);
        if (!socket.destroyed) throw new BrokenProperty("the socket of a link that is over is open");
    },
    isRefusal: isTypedRefusal,
};

function refusalOrThrow(error: unknown): void {
    if (!(error instanceof OpenFlowError) || error.fault === "internal") throw error;
}

function ignore(): void {
    // No action needed.
}
