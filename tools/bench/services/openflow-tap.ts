import { mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { decodeMessage, FrameSplitter } from "@antrea/openflow";
import { type PrivateOvs } from "@antrea/openflow/testing";
import { joinSockets } from "../join-sockets.ts";
import { Bundles, isEcho, isWrite, type Written } from "./bundles.ts";

/** Between an agent and the OpenFlow socket of its bridge: reads all messages, and when the switch answered. */
export class OpenFlowTap implements AsyncDisposable {
    /** The folder that the agent is to use as that of Open vSwitch. */
    readonly runDir: string;
    readonly #server: Server;
    readonly #clients = new Set<Socket>();
    readonly #bundles = new Bundles();
    readonly #written: Written[] = [];
    #messages = 0;
    #writes = 0;
    #changed = Promise.withResolvers<void>();

    private constructor(ovs: PrivateOvs, bridge: string, runDir: string) {
        this.runDir = runDir;
        this.#server = createServer((client) => {
            const upstream = connect(ovs.mgmtSocket(bridge));
            const [requests, replies] = [new FrameSplitter(), new FrameSplitter()];
            client.on("data", (chunk: Buffer) => {
                for (const frame of requests.push(chunk)) this.#requested(frame);
            });
            upstream.on("data", (chunk: Buffer) => {
                for (const frame of replies.push(chunk)) this.#replied(frame);
            });
            this.#clients.add(client);
            client.once("close", () => this.#clients.delete(client));
            joinSockets(client, upstream);
        });
    }

    /** Creates the folder: that of Open vSwitch, but for the socket of the bridge, which does not need to exist yet. */
    static async open(ovs: PrivateOvs, bridge: string, runDir: string): Promise<OpenFlowTap> {
        rmSync(runDir, { recursive: true, force: true });
        mkdirSync(runDir);
        for (const name of readdirSync(ovs.runDir)) symlinkSync(join(ovs.runDir, name), join(runDir, name));
        const tap = new OpenFlowTap(ovs, bridge, runDir);
        const { promise, resolve } = Promise.withResolvers<void>();
        tap.#server.listen(join(runDir, `${bridge}.mgmt`), resolve);
        await promise;
        return tap;
    }

    /** Number of messages of the agent so far, without echoes. */
    get messages(): number {
        return this.#messages;
    }

    /** Number of flows, groups and meters that the agent has sent so far, in bundles or not. */
    get writes(): number {
        return this.#writes;
    }

    /** Number of bundles with changes that the switch has applied. */
    get count(): number {
        return this.#written.length;
    }

    /** The bundles after the first `count`. */
    since(count: number): readonly Written[] {
        return this.#written.slice(count);
    }

    /** Resolves when the condition is true, which is checked after each bundle; false after the limit. */
    async until(isDone: () => boolean, limitMs: number): Promise<boolean> {
        const end = performance.now() + limitMs;
        while (!isDone()) {
            const left = end - performance.now();
            if (left <= 0) return false;
            const timer = setTimeout(() => this.#changed.resolve(), left);
            await this.#changed.promise;
            clearTimeout(timer);
        }
        return true;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const client of this.#clients) client.destroy();
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#server.close(() => resolve());
        await promise;
        rmSync(this.runDir, { recursive: true, force: true });
    }

    #requested(frame: Uint8Array): void {
        if (isEcho(frame)) return;
        this.#messages += 1;
        if (isWrite(frame)) this.#writes += 1;
        if (Bundles.reads(frame)) this.#bundles.requested(decodeMessage(frame));
    }

    #replied(frame: Uint8Array): void {
        if (!Bundles.reads(frame)) return;
        const written = this.#bundles.replied(decodeMessage(frame), performance.now());
        if (written === undefined) return;
        this.#written.push(written);
        this.#changed.resolve();
        this.#changed = Promise.withResolvers();
    }
}
