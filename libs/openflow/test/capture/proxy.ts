import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type PrivateOvs } from "../../src/testing/private-ovs.ts";

/** One OpenFlow message between ovs-ofctl and ovs-vswitchd. */
export interface Captured {
    readonly from: "ofctl" | "switch";
    readonly hex: string;
}

export interface CaptureOptions {
    /** Message types that are not forwarded, so that ovs-ofctl may send what this switch would reject. */
    readonly swallow?: readonly number[];
    /** ovs-ofctl is ended after this time. Default 10000. */
    readonly timeoutMs?: number;
    /** Runs while ovs-ofctl is connected. */
    readonly meanwhile?: () => Promise<void>;
}

/** Runs ovs-ofctl on the bridge through a proxy and returns every message; `SWITCH` in `args` is the proxy. */
export async function capture(
    ovs: PrivateOvs,
    bridge: string,
    args: readonly string[],
    options: CaptureOptions = {},
): Promise<readonly Captured[]> {
    const messages: Captured[] = [];
    const path = join(ovs.runDir, "proxy.sock");
    const relay = (source: Socket, target: Socket, from: Captured["from"]): void => {
        let pending = Buffer.alloc(0);
        source.on("data", (chunk: Buffer) => {
            pending = Buffer.concat([pending, chunk]);
            while (pending.length >= 8 && pending.length >= pending.readUInt16BE(2)) {
                const frame = pending.subarray(0, pending.readUInt16BE(2));
                pending = pending.subarray(frame.length);
                messages.push({ from, hex: frame.toString("hex") });
                if (from === "switch" || !options.swallow?.includes(frame[1] ?? 0)) target.write(frame);
            }
        });
        source.on("error", () => target.destroy());
        source.on("close", () => target.destroy());
    };
    const server = createServer((client) => {
        const upstream = connect(ovs.mgmtSocket(bridge));
        relay(client, upstream, "ofctl");
        relay(upstream, client, "switch");
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const child = spawn(
        "ovs-ofctl",
        ["-O", "OpenFlow15", ...args.map((arg) => (arg === "SWITCH" ? `unix:${path}` : arg))],
        { stdio: ["ignore", "ignore", "inherit"], env: ovs.env },
    );
    const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? 10_000);
    const ended = new Promise((resolve) => child.on("exit", resolve));
    if (options.meanwhile !== undefined) {
        await options.meanwhile();
        child.kill("SIGKILL");
    }
    await ended;
    clearTimeout(timer);
    await new Promise((resolve) => server.close(resolve));
    await rm(path, { force: true });
    return messages;
}
