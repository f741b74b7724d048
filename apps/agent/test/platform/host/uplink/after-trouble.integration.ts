import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseEntry, type JournalEntry } from "../../../../src/platform/host/uplink/journal-codec.ts";
import { eventually } from "../../../support/eventually.ts";
import { UplinkNode } from "./support/uplink-node.ts";

let node: UplinkNode;
let before: ReturnType<UplinkNode["truth"]>;

beforeAll(async () => {
    node = await UplinkNode.start();
    before = node.truth();
});

afterEach(async () => {
    expect(node.truth()).toEqual(before);
    expect((await node.ovs.vsctl("list-ports", node.bridge)).trim()).toBe("");
    expect(existsSync(journalPath())).toBe(false);
});

afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
});

function journalPath(): string {
    return join(node.folder, "uplink.json");
}

function journal(): JournalEntry | undefined {
    return parseEntry(readFileSync(journalPath(), "utf8"));
}

/** Without its switch a device of the userspace datapath stays, until somebody deletes it. */
async function loseHostPort(name: string): Promise<void> {
    await node.ovs.killVswitchd();
    node.ip("link", "del", name);
}

async function startVswitchd(): Promise<void> {
    await node.ovs.startVswitchd();
    await node.addFlows();
}

describe("a disk that takes nothing more", () => {
    const draft = (): string => join(node.folder, "uplink.json.new");

    afterEach(() => rmSync(draft(), { recursive: true, force: true }));

    it("does not hinder the rollback", async () => {
        await node.run({ actions: ["recover", "connect"] });
        mkdirSync(draft());
        const { reported, log } = await node.run({ actions: ["recover", "restore"] });
        expect(reported).toMatchObject([{ kind: "found" }, { kind: "idle" }]);
        expect(log).toContain("the journal of the uplink cannot be written");
    });

    it.each(["switch-back", "remove-ports", "rename-back"] as const)(
        "does not hinder the next start after a kill in the step %s",
        async (step) => {
            await node.run({ actions: ["recover", "connect"] });
            mkdirSync(draft());
            const kill = { step, moment: "made" } as const;
            expect(await node.run({ actions: ["recover", "restore"], kill })).toMatchObject({ signal: "SIGKILL" });
            expect((await node.run({ actions: ["recover"] })).reported).toEqual([{ kind: "idle" }]);
            expect(node.reaches()).toBe(true);
        },
    );

    it("keeps a move from being begun", async () => {
        mkdirSync(draft());
        const { reported } = await node.run({ actions: ["recover", "connect"] });
        expect(reported[1]).toMatchObject({ kind: "error", code: "JOURNAL_UNWRITABLE" });
    });
});

describe("what changed on the host port", () => {
    it("is in the journal, for a next agent that finds no host port", async () => {
        const { child, ended } = node.begin({ actions: ["recover", "connect", "check-long"] });
        await new Promise((resolve) => child.stdout?.once("data", resolve));
        await eventually(() => existsSync(journalPath()) && journal()?.step === "bridged", Boolean);
        node.ip("addr", "change", "10.99.0.50/24", "dev", "eth0", "valid_lft", "9000", "preferred_lft", "8000");
        node.ip("addr", "add", "10.99.0.4/24", "dev", "eth0");
        node.ip("route", "add", "198.18.5.0/24", "via", "10.99.0.1");
        // More than any of the Node has at first; a busy machine reads it some seconds later, when it is less.
        const isChanged = (seconds = 0): boolean => seconds > 7_200 && seconds <= 9_000;
        const saved = await eventually(
            () => journal()?.saved,
            (one) => one?.addresses.some(({ lifetime }) => isChanged(lifetime?.validSeconds)) === true,
        );
        expect(saved?.routes.length).toBeGreaterThan(0);
        const text = await eventually(
            () => readFileSync(journalPath(), "utf8"),
            (one) => one.includes("198.18.5.0/24") && one.includes("10.99.0.4"),
        );
        expect(text).toContain("198.18.5.0/24");
        child.kill("SIGKILL");
        await ended;
        await loseHostPort("eth0");
        expect((await node.run({ actions: ["recover"] })).reported).toEqual([{ kind: "idle" }]);
        expect(node.ip("route", "show", "198.18.5.0/24")).toContain("via 10.99.0.1 dev eth0");
        expect(node.ip("addr", "show", "dev", "eth0")).toContain("inet 10.99.0.4/24");
        const left = /10\.99\.0\.50\/24[^]*?valid_lft (\d+)sec/.exec(node.ip("addr", "show", "eth0"))?.[1];
        expect([left, isChanged(Number(left))]).toEqual([left, true]);
        node.ip("addr", "del", "10.99.0.4/24", "dev", "eth0");
        node.ip("route", "del", "198.18.5.0/24");
        node.ip("addr", "change", "10.99.0.50/24", "dev", "eth0", "valid_lft", "3600", "preferred_lft", "1800");
        await startVswitchd();
    });

    it("does not make the journal be written again when it is only time that passes", async () => {
        const { child, ended } = node.begin({ actions: ["recover", "connect", "check-long"] });
        await eventually(() => existsSync(journalPath()) && journal()?.step === "bridged", Boolean);
        // Written every half second it would never be the same for three; the first checks may find what came with the move.
        const stays = async (): Promise<boolean> => {
            const taken = journal()?.saved.takenAt;
            await new Promise((resolve) => setTimeout(resolve, 3_000));
            return taken !== undefined && journal()?.saved.takenAt === taken;
        };
        expect(await eventually(stays, Boolean, 30_000)).toBe(true);
        child.kill("SIGKILL");
        await ended;
        await node.run({ actions: ["recover", "restore"] });
    });
});

describe("links that are others by now", () => {
    const address = "10.66.0.1/24";

    function addNic(mac: string): void {
        node.ip("link", "add", "d0", "address", mac, "type", "veth", "peer", "name", "d1");
        for (const link of ["d0", "d1"]) node.ip("link", "set", link, "up");
    }

    afterEach(() => void node.ip("link", "del", "d0"));

    it.each([
        {
            which: "another NIC of the name does not get the addresses of the one that is gone",
            mac: "02:00:00:00:0d:02",
        },
        { which: "the same NIC, made anew with addresses of its own, keeps these", mac: "02:00:00:00:0d:01" },
    ])("$which", async ({ mac }) => {
        addNic("02:00:00:00:0d:01");
        node.ip("addr", "add", address, "dev", "d0");
        await node.run({ actions: ["recover", "connect"], nic: "d0" });
        await loseHostPort("d0");
        node.ip("link", "del", "d0~");
        addNic(mac);
        node.ip("addr", "add", "10.67.0.1/24", "dev", "d0");
        expect((await node.run({ actions: ["recover"] })).reported).toEqual([{ kind: "idle" }]);
        const shown = node.ip("-4", "addr", "show", "dev", "d0");
        await startVswitchd();
        expect(shown).toContain("10.67.0.1/24");
        expect(shown).not.toContain(address);
    });

    it.each(["recover", "command"] as const)(
        "a NIC without journal and without host port has its name again, by %s",
        async (action) => {
            addNic("02:00:00:00:0d:01");
            node.ip("addr", "add", address, "dev", "d0");
            await node.run({ actions: ["recover", "connect"], nic: "d0" });
            await loseHostPort("d0");
            rmSync(journalPath());
            await node.run({ actions: [action], ovsDown: action === "command" });
            const shown = node.ip("-d", "addr", "show", "dev", "d0");
            await startVswitchd();
            expect(shown).toContain("veth");
            expect(shown).toContain("inet6 fe80::");
            expect(shown).not.toContain("group 178");
        },
    );

    it("a link of somebody else that has such a name stays", async () => {
        addNic("02:00:00:00:0d:01");
        node.ip("link", "set", "d0", "name", "other~");
        await node.run({ actions: ["recover", "command"], ovsDown: true });
        const shown = node.ip("link", "show");
        node.ip("link", "set", "other~", "name", "d0");
        expect(shown).toContain("other~");
    });
});
