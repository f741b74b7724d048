import { beforeEach, describe, expect, it } from "@jest/globals";
import type { UplinkState } from "../../../src/platform/host/uplink/index.ts";
import { NicUplinks, type NicUplink } from "../../../src/features/secondary-bridge/nic-uplinks.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";

const bridged = (name: string): UplinkState => ({
    kind: "bridged",
    name,
    physicalName: `${name}~`,
    mac: "02:00:00:00:00:02",
});
const signal = new AbortController().signal;

/** A NIC that is moved and given back as the test wants, and what was done with it. */
class FakeNic implements NicUplink {
    /** What fails, and what is done. */
    failure: Error | undefined;
    found = false;
    state: UplinkState = { kind: "idle" };
    readonly calls: string[] = [];
    readonly #name: string;
    readonly #bridges: Set<string>;

    constructor(name: string, bridges: Set<string>) {
        this.#name = name;
        this.#bridges = bridges;
    }

    readonly #call = async (what: string, next: () => UplinkState): Promise<UplinkState> => {
        this.calls.push(what);
        await Promise.resolve();
        if (this.failure !== undefined) throw this.failure;
        return (this.state = next());
    };

    get uplink(): NicUplink["uplink"] {
        const state = (): UplinkState => this.state;
        const name = this.#name;
        return {
            get state() {
                return state();
            },
            recover: () => this.#call("recover", () => (this.found ? { kind: "found", name } : { kind: "idle" })),
            connect: () => {
                this.#bridges.add(name);
                return this.#call("connect", () => bridged(name));
            },
            check: () => this.#call("check", () => this.state),
            restore: async () => void (await this.#call("restore", () => ({ kind: "idle" }))),
        };
    }

    get bridge(): NicUplink["bridge"] {
        const name = this.#name;
        return {
            name: `${name}~br`,
            exists: this.#bridges.has(name),
            patch: { name: `patch-${name}`, peer: `patch-${name}~br` },
            port: (port) => (port === `${name}~` ? ({ error: "busy" } as never) : undefined),
            attach: () => {
                this.calls.push("attach");
                return Promise.resolve();
            },
            delete: () => {
                this.calls.push("delete");
                this.#bridges.delete(name);
                return Promise.resolve();
            },
        };
    }
}

let nics: Map<string, FakeNic>;
let bridges: Set<string>;
let journals: string[];
let log: LogEntry[];
let uplinks: NicUplinks;

beforeEach(() => {
    bridges = new Set();
    nics = new Map(["eth1", "eth2", "old"].map((name) => [name, new FakeNic(name, bridges)]));
    journals = [];
    log = [];
    uplinks = new NicUplinks(
        {
            make: (name) => nic(name),
            movedNics: () => journals,
            nicsWithBridges: () => [...bridges],
            logger: listLogger(log),
        },
        { nics: ["eth1", "eth2"] },
    );
});

function nic(name: string): FakeNic {
    const found = nics.get(name);
    if (found === undefined) throw new Error(`no NIC ${name}`);
    return found;
}

describe("at the start", () => {
    it("NICs of the configuration stay as they are found, others are given back", async () => {
        journals = ["eth1", "old"];
        for (const name of journals) nic(name).found = true;
        expect(uplinks.isFound).toBe(false);
        await uplinks.recover(signal);
        expect(["eth1", "eth2", "old"].map((name) => uplinks.isMoved(name))).toEqual([true, false, false]);
        expect(nic("old").calls).toEqual(["recover", "restore"]);
        expect([uplinks.isFound, uplinks.isKnown("old"), uplinks.isKnown("eth2"), uplinks.isKnown("eth3")]).toEqual([
            true,
            true,
            true,
            false,
        ]);
    });

    it("a NIC that cannot be given back is logged, keeps no other from it, and is tried again", async () => {
        journals = ["eth1", "old"];
        nic("old").failure = new Error("its name is taken");
        await uplinks.recover(signal);
        expect(log).toMatchObject([{ level: "error", fields: { nic: "old", reason: "its name is taken" } }]);
        expect(nic("eth1").calls).toEqual(["recover"]);
        expect(uplinks.failure("old")).toBe(nic("old").failure);
        await expect(uplinks.releaseUnused(signal)).rejects.toThrow("its name is taken");
        nic("old").failure = undefined;
        await uplinks.releaseUnused(signal);
        expect(uplinks.failure("old")).toBeUndefined();
    });

    it("that is aborted, the rest is for the next one", async () => {
        nic("eth1").failure = new Error("aborted");
        await expect(uplinks.recover(AbortSignal.abort(new Error("the end")))).rejects.toThrow("the end");
        expect(log).toEqual([]);
    });
});

describe("a NIC that the Node uses", () => {
    it("is connected, then checked, and leads to the bridge of networks", async () => {
        await uplinks.keep("eth1", signal);
        await uplinks.keep("eth1", signal);
        expect(nic("eth1").calls).toEqual(["connect", "check"]);
        expect(uplinks.portError("eth1")).toBe("busy");
        expect(uplinks.portError("eth2")).toBeUndefined();
        expect(await uplinks.attach("eth1", signal)).toEqual({ name: "patch-eth1", peer: "patch-eth1~br" });
        bridges.clear();
        await uplinks.attach("eth1", signal);
        expect(nic("eth1").calls).toEqual(["connect", "check", "attach"]);
    });

    it("whose move was undone is not moved again", async () => {
        nic("eth1").state = { kind: "rolledBack", name: "eth1", reason: "nobody answered" };
        await uplinks.keep("eth1", signal);
        expect(nic("eth1").calls).toEqual([]);
    });

    it("has the error of the last try, until one succeeds", async () => {
        nic("eth1").failure = new Error("no journal");
        await expect(uplinks.keep("eth1", signal)).rejects.toThrow("no journal");
        expect([uplinks.failure("eth1"), uplinks.failure("eth2")]).toEqual([nic("eth1").failure, undefined]);
        nic("eth1").failure = undefined;
        await uplinks.keep("eth1", signal);
        expect(uplinks.failure("eth1")).toBeUndefined();
    });
});

describe("the bridge of a NIC", () => {
    it("is deleted when the NIC is not moved, and not before or in a move", async () => {
        await uplinks.keep("eth1", signal);
        await uplinks.releaseUnused(signal);
        expect(nic("eth1").calls).toEqual(["connect"]);
        await uplinks.release("eth1");
        bridges.add("old");
        const moving = uplinks.keep("eth2", signal);
        await uplinks.releaseUnused(signal);
        await moving;
        expect([...bridges]).toEqual(["eth2"]);
        expect(nic("eth1").calls).toEqual(["connect", "restore", "delete"]);
    });
});

describe("at the end", () => {
    it("all are given back, and those that were moved are named", async () => {
        await uplinks.recover(signal);
        await uplinks.keep("eth2", signal);
        expect(await uplinks.restore()).toEqual(["eth2"]);
        expect(["eth1", "eth2"].map((name) => nic(name).calls.at(-1))).toEqual(["restore", "restore"]);
        expect(await uplinks.restore()).toEqual([]);
    });

    it("also those are given back that an abandoned recovery has not come to", async () => {
        journals = ["eth1"];
        nic("eth1").failure = new Error("aborted");
        await expect(uplinks.recover(AbortSignal.abort(new Error("the end")))).rejects.toThrow("the end");
        nic("eth1").failure = undefined;
        await uplinks.restore();
        expect(nic("eth1").calls).toEqual(["recover", "restore"]);
    });

    it("one that fails keeps no other from it", async () => {
        await uplinks.keep("eth1", signal);
        await uplinks.keep("eth2", signal);
        nic("eth1").failure = new Error("no way");
        await expect(uplinks.restore()).rejects.toThrow("no way");
        expect(nic("eth2").state.kind).toBe("idle");
    });
});
