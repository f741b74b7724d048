/**
 * An agent as far as the NICs of the secondary bridge go, as a program of its own, so that it can be killed at any step.
 * Its one argument is JSON (NicProgramInput); it prints JSON lines and ends.
 */
import { createConnection, createServer } from "node:net";
import { dirname, join } from "node:path";
import { systemClock } from "@antrea/async";
import { Netlink } from "@antrea/netlink";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { createLogger } from "@antrea/runtime";
import { NicSettings } from "../../../../src/features/secondary-bridge/nic-settings.ts";
import { NicUplinks } from "../../../../src/features/secondary-bridge/nic-uplinks.ts";
import { SecondaryBridge } from "../../../../src/features/secondary-bridge/secondary-bridge.ts";
import { NodeSysctls } from "../../../../src/platform/host/gateway/index.ts";
import { leavesBy } from "../../../../src/platform/host/uplink/api-reachable.ts";
import { movedNics, nicFolder, restoreUplink, Uplink } from "../../../../src/platform/host/uplink/index.ts";
import {
    monitoredColumns,
    NicBridge,
    nicsWithBridges,
    OvsBridge,
    SwitchBridge,
} from "../../../../src/platform/ovs/bridge/index.ts";
import { linkGroup } from "../../../platform/host/uplink/support/input.ts";
import type { NicAction, NicProgramInput } from "./input.ts";

const input = JSON.parse(process.argv[2] ?? "{}") as NicProgramInput;
const bootId = "boot-1";
const datapathType = "netdev";

function print(value: unknown): void {
    process.stdout.write(`${JSON.stringify(value)}\n`);
}

function serve(port: number): void {
    createServer((socket) => {
        socket.on("error", () => undefined);
        socket.pipe(socket);
    }).listen({ port, host: "::" }, () => print({ kind: "listening" }));
}

function reachable(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
        const socket = createConnection({ ...input.api, signal });
        const end = (answer: boolean): void => {
            socket.destroy();
            resolve(answer);
        };
        socket.on("connect", () => end(true));
        socket.on("error", () => end(false));
    });
}

/** Until the test asks to go on. */
function continued(): Promise<void> {
    return new Promise((resolve) => process.stdin.once("data", () => resolve()).once("end", () => resolve()));
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));

async function act(): Promise<void> {
    const { signal } = new AbortController();
    const logger = createLogger({
        module: "nics",
        level: "debug",
        destination: { write: (text: string) => void process.stderr.write(text) },
    });
    const database = new OvsdbSession({ logger }, { socketPath: input.dbSocket, monitor: monitoredColumns });
    database.start(signal);
    // The command has its own session, and may have to do without a server.
    if (!input.actions.includes("command")) await database.ready(AbortSignal.timeout(30_000));
    using netlink = Netlink.open();
    // After the rollback of an earlier kill.
    let armed = false;
    const uplinks = new NicUplinks(
        {
            logger,
            movedNics: () => movedNics(input.folder),
            nicsWithBridges: () => nicsWithBridges(database),
            make: (nic) => {
                const bridge = new NicBridge({ database }, { nic, datapathType });
                const uplink = new Uplink(
                    {
                        netlink,
                        ports: bridge,
                        logger,
                        apiReachable: reachable,
                        apiIsLocal: async () => !(await leavesBy(input.api.host, nic, netlink)),
                        fault: async (step, moment) => {
                            const isAt = (point: NicProgramInput["kill"]): boolean =>
                                armed && point?.nic === nic && point.step === step && point.moment === moment;
                            if (isAt(input.kill)) process.kill(process.pid, "SIGKILL");
                            if (!isAt(input.pause)) return;
                            print({ action: "paused" });
                            await continued();
                        },
                    },
                    {
                        folder: nicFolder(input.folder, nic),
                        bootId,
                        checkTimeoutMs: input.checkTimeoutMs ?? 30_000,
                        uplinkOfPort: 1,
                        hostOfPort: 2,
                        linkGroup,
                        copiesFrames: true,
                        mustComputeChecksums: true,
                        usesAllGateways: true,
                        isOwn: ({ name }) => name === nic,
                        timing: { ovsMs: 30_000, carrierMs: 1_000, lossMs: 30_000, saveMs: 500 },
                    },
                );
                return { bridge, uplink };
            },
        },
        { nics: input.nics },
    );
    const all = new OvsBridge({ database }, { bridge: "br-int", datapathType });
    const sysctls = new NodeSysctls({ logger }, { folder: input.folder, bootId });
    const state = new SecondaryBridge(
        {
            bridge: new SwitchBridge({ database }, { bridge: "br1", datapathType, multicastSnooping: false }),
            netlink,
            settings: new NicSettings({ netlink, sysctls }, { linkGroup }),
            uplinks,
            bridgeOf: (name) => all.bridgeOf(name),
            bridgedNic: () => undefined,
            makeRoom: () => Promise.resolve(),
            clock: systemClock,
            logger,
        },
        { nics: input.nics },
    );
    const check = async (): Promise<void> => {
        await state.check(signal);
        await uplinks.releaseUnused(signal);
    };
    const isOver = (nic: string): boolean => uplinks.isMoved(nic) || uplinks.state(nic).kind === "rolledBack";
    const keep = (): Promise<unknown> => Promise.all(state.nicsOfNode.map((nic) => uplinks.keep(nic, signal)));
    const perform: Readonly<Record<NicAction, () => Promise<unknown>>> = {
        recover: () => uplinks.recover(signal),
        check,
        connect: async () => {
            do {
                await check();
                await keep();
                await pause();
            } while (!state.nicsOfNode.every(isOver) || input.nics.some((nic) => state.isWaiting(nic)));
            await check();
        },
        hold: async () => {
            let isEnded = false;
            void continued().then(() => (isEnded = true));
            while (!isEnded) {
                await check();
                await keep();
                await pause();
            }
        },
        restore: () => uplinks.restore(),
        release: () => uplinks.releaseUnused(signal),
        wait: continued,
        command: () =>
            restoreUplink({
                folder: input.folder,
                bootId,
                ovsRunDir: dirname(input.dbSocket),
                databaseFile: join(dirname(input.dbSocket), "conf.db"),
                force: true,
                print: (line) => print({ line }),
                logger,
            }),
    };
    try {
        for (const action of input.actions) {
            if (action !== "recover") armed = true;
            await perform[action]();
            const nics = Object.fromEntries(input.nics.map((nic) => [nic, uplinks.state(nic).kind]));
            const { condition, problem } = state;
            if (action !== "wait")
                print({ action, nics, problem, condition: condition && `${condition.reason} ${condition.message}` });
        }
    } catch (error) {
        print({ action: "error", message: error instanceof Error ? error.message : String(error) });
    } finally {
        await database.close();
    }
}

if (input.serve !== undefined) serve(input.serve);
else await act();
