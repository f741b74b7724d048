/**
 * An agent as far as the uplink goes, as a program of its own, so that it can be killed at any step. Its one argument is
 * JSON (ProgramInput); it prints JSON lines and ends.
 */
import { createConnection, createServer } from "node:net";
import { dirname, join } from "node:path";
import { Netlink, NetlinkError } from "@antrea/netlink";
import { createLogger, type Logger } from "@antrea/runtime";
import { referencesOf, textOf } from "@antrea/ovsdb";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { monitoredColumns, OvsBridge } from "../../../../../src/platform/ovs/bridge/index.ts";
import { restoreUplink, Uplink, UplinkError, type UplinkPorts } from "../../../../../src/platform/host/uplink/index.ts";
import { hostOfPort, linkGroup, uplinkOfPort, type ProgramInput } from "./input.ts";

const input = JSON.parse(process.argv[2] ?? "{}") as ProgramInput;

function print(value: unknown): void {
    process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** An echo server. */
function serve(port: number): void {
    createServer((socket) => {
        socket.on("error", () => undefined);
        socket.pipe(socket);
    }).listen({ port, host: "::" }, () => print({ kind: "listening" }));
}

/** A message every 5 ms on one connection, and how long the echo was away at most. */
async function stream(): Promise<void> {
    const socket = createConnection({ ...input.api, noDelay: true });
    let last = performance.now();
    let longestGapMs = 0;
    let heard = 0;
    socket.on("data", (bytes) => {
        const now = performance.now();
        longestGapMs = Math.max(longestGapMs, now - last);
        last = now;
        heard += bytes.length;
    });
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    last = performance.now();
    let sent = 0;
    const timer = setInterval(() => {
        socket.write("x".repeat(100));
        sent += 100;
    }, 5);
    print({ kind: "streaming" });
    await new Promise((resolve) => process.stdin.once("end", resolve).resume());
    clearInterval(timer);
    const deadline = performance.now() + 30_000;
    while (heard < sent && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
    longestGapMs = Math.max(longestGapMs, heard < sent ? performance.now() - last : 0);
    print({ kind: "streamed", longestGapMs, sent, heard });
    socket.destroy();
}

function reachable(signal: AbortSignal): Promise<boolean> {
    if (input.apiAway === true) return Promise.resolve(false);
    return new Promise((resolve) => {
        const socket = createConnection({ host: input.api.host, port: input.api.port, signal });
        const end = (answer: boolean): void => {
            socket.destroy();
            resolve(answer);
        };
        socket.on("connect", () => end(true));
        socket.on("error", () => end(false));
    });
}

/** A kernel before 6.2, which renames no link that is up. */
function oldKernel(netlink: Netlink): Netlink {
    return new Proxy(netlink, {
        get(target, name) {
            if (name === "setLink") {
                return async (index: number, changes: Parameters<Netlink["setLink"]>[1]): Promise<void> => {
                    if (changes.name !== undefined && (await target.link(index))?.up === true) {
                        throw new NetlinkError("EBUSY", "environment", "set link: EBUSY");
                    }
                    await target.setLink(index, changes);
                };
            }
            const value: unknown = Reflect.get(target, name, target);
            return typeof value === "function" ? (value.bind(target) as unknown) : value;
        },
    });
}

const changes = [
    "batch",
    "setLink",
    "deleteLink",
    "addAltName",
    "deleteAltName",
    "probeNeighbour",
] as const satisfies readonly (keyof Netlink)[];

/** Ends the program before one of the changes in the kernel. */
function killing(netlink: Netlink, at: number): Netlink {
    return new Proxy(netlink, {
        get(target, name) {
            const value: unknown = Reflect.get(target, name, target);
            if (typeof value !== "function") return value;
            return (...args: readonly unknown[]): unknown => {
                if ((changes as readonly (string | symbol)[]).includes(name) && counting && ++count === at) {
                    process.kill(process.pid, "SIGKILL");
                }
                return value.apply(target, args) as unknown;
            };
        },
    });
}

/** Somebody deletes the host port's device just before one kind of answer. */
function vanishing(netlink: Netlink, what: "addresses" | "routes"): Netlink {
    let isDone = false;
    return new Proxy(netlink, {
        get(target, name) {
            const value: unknown = Reflect.get(target, name, target);
            if (typeof value !== "function") return value;
            return async (...args: readonly unknown[]): Promise<unknown> => {
                if (name === what && mayVanish && !isDone) {
                    isDone = true;
                    await target.deleteLink(input.nic);
                    print({ kind: "vanished" });
                }
                return value.apply(target, args) as unknown;
            };
        },
    });
}

function netlinkOf(real: Netlink): Netlink {
    if (input.vanishesBefore !== undefined) return vanishing(real, input.vanishesBefore);
    if (input.killAtChange !== undefined) return killing(real, input.killAtChange.change);
    return input.oldKernel === true ? oldKernel(real) : real;
}

async function command(logger: Logger): Promise<void> {
    const ovsRunDir = dirname(input.dbSocket);
    const restored = await restoreUplink({
        folder: input.folder,
        bootId: input.bootId ?? "boot-1",
        ovsRunDir,
        logger,
        databaseFile: join(ovsRunDir, "conf.db"),
        force: input.force === true,
        print: (line) => print({ kind: "line", line }),
    });
    print({ kind: "restored", restored });
}

async function cycle(uplink: Uplink): Promise<void> {
    await uplink.recover();
    const began = performance.now();
    const { kind } = await uplink.connect(input.nic, new AbortController().signal);
    const connected = performance.now();
    await uplink.restore();
    print({ kind, connectMs: connected - began, restoreMs: performance.now() - connected });
}

/** Until the test asks to go on. */
function continued(): Promise<void> {
    return new Promise((resolve) => process.stdin.once("data", () => resolve()));
}

// Only what is done after the rollback of an earlier kill.
let armed = false;
let counting = false;
let count = 0;
let mayVanish = false;

async function act(): Promise<void> {
    const stop = new AbortController();
    const logger = createLogger({
        module: "uplink",
        level: "debug",
        destination: { write: (text: string) => void process.stderr.write(text) },
    });
    const session = new OvsdbSession(
        { logger },
        { socketPath: input.dbSocket, monitor: monitoredColumns, ...(input.lock === true && { lock: "antrea_agent" }) },
    );
    session.start(new AbortController().signal);
    if (input.ovsDown !== true) await session.ready(AbortSignal.timeout(30_000));
    const bridge = new OvsBridge({ database: session }, { bridge: input.bridge, datapathType: "netdev" });
    const ports: UplinkPorts = {
        port: (name) => bridge.port(name),
        ensurePort: (spec, signal) => bridge.ensurePort(spec, signal),
        deletePort: (name, signal) => bridge.deletePort(name, signal),
        acknowledged: (limits) => bridge.acknowledged(limits),
        ofPort: (name, timeoutMs, signal) => bridge.ofPort(name, timeoutMs, signal),
        bridgeOf: (name) => {
            const port = [...session.rows("Port")].find(([, row]) => row["name"] === name)?.[0];
            const row = [...session.rows("Bridge").values()].find(
                (one) => port !== undefined && referencesOf(one, "ports").includes(port),
            );
            return row && textOf(row, "name");
        },
    };
    const real = Netlink.open();
    let apiOutage = false;
    const uplink = new Uplink(
        {
            netlink: netlinkOf(real),
            ports,
            logger,
            apiReachable: (signal) => (apiOutage ? Promise.resolve(false) : reachable(signal)),
            apiIsLocal: () => Promise.resolve(input.apiIsLocal === true),
            ovsProblem: () => input.ovsProblem,
            fault: async (step, moment) => {
                if (step === "rename" && input.apiOutage === true) apiOutage = true;
                const { kill, abort, pause, killAtChange } = input;
                if (!armed) return;
                if (killAtChange?.step === step) counting = moment === "written";
                if (kill?.step === step && kill.moment === moment) process.kill(process.pid, "SIGKILL");
                if (abort?.step === step && abort.moment === moment) stop.abort();
                if (pause?.step === step && pause.moment === moment) {
                    print({ kind: "paused" });
                    await continued();
                }
            },
        },
        {
            folder: input.folder,
            bootId: input.bootId ?? "boot-1",
            checkTimeoutMs: input.checkTimeoutMs ?? 30_000,
            uplinkOfPort,
            hostOfPort,
            linkGroup,
            copiesFrames: true,
            mustComputeChecksums: true,
            timing: { ovsMs: 30_000, carrierMs: 1_000, lossMs: 30_000, saveMs: 500, ...input.timing },
        },
    );
    try {
        for (const action of input.actions) {
            if (action !== "recover") armed = true;
            if (action === "recover") print(await uplink.recover());
            if (action === "command") await command(logger);
            if (action === "connect") {
                print(await uplink.connect(input.nic, stop.signal));
                mayVanish = true;
            }
            if (action === "restore") {
                await uplink.restore();
                print(uplink.state);
            }
            if (action === "check") print(await uplink.check(stop.signal));
            if (action === "wait") await continued();
            if (action === "cycle") for (let count = 0; count < 50; count++) await cycle(uplink);
            if (action === "check-long") {
                let isOver = false;
                process.once("SIGTERM", () => (isOver = true));
                const end = performance.now() + 120_000;
                while (!isOver && performance.now() < end && ["bridged", "found"].includes(uplink.state.kind)) {
                    await uplink.check(stop.signal);
                    await new Promise((resolve) => setTimeout(resolve, 200));
                }
                print(uplink.state);
            }
        }
    } catch (error) {
        const code = error instanceof UplinkError ? error.code : "";
        print({ kind: "error", code, message: error instanceof Error ? error.message : String(error) });
    } finally {
        await session.close();
        real[Symbol.dispose]();
    }
}

if (input.serve !== undefined) serve(input.serve);
else if (input.stream === true) await stream();
else await act();
