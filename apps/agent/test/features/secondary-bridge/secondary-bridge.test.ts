import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { secondaryBridgeCondition } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import type { Address, Link } from "@antrea/netlink";
import { NicSettings } from "../../../src/features/secondary-bridge/nic-settings.ts";
import { UplinkError } from "../../../src/platform/host/uplink/index.ts";
import type { PatchPort } from "../../../src/platform/ovs/bridge/index.ts";
import { SecondaryBridge } from "../../../src/features/secondary-bridge/secondary-bridge.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { FakeUplinks } from "./support/fake-uplinks.ts";
import { addressOf, fakeNetlink, linkOf } from "../../platform/host/uplink/support/fake-links.ts";

/** The bridge, as far as its NICs are concerned. */
class FakeBridge {
    readonly name = "br1";
    /** Why OVS cannot open a NIC. */
    readonly errors = new Map<string, string>();
    failure: Error | undefined;
    /** The agent ends when the database has the change. */
    isKilled = false;
    #nics: readonly string[] = [];

    ensure(nics: readonly (string | PatchPort)[]): Promise<void> {
        if (this.failure !== undefined) return Promise.reject(this.failure);
        this.#nics = nics.map((nic) => (typeof nic === "string" ? nic : nic.name));
        return this.isKilled ? Promise.reject(new Error("killed")) : Promise.resolve();
    }

    nics(): readonly { readonly name: string; readonly error: string | undefined }[] {
        return this.#nics.map((name) => ({ name, error: this.errors.get(name) }));
    }

    get names(): readonly string[] {
        return this.#nics;
    }
}

const signal = new AbortController().signal;
let links: Link[];
let addresses: Address[];
let bridge: FakeBridge;
/** Sysctls that are set. */
let disabled: Set<string>;
let log: LogEntry[];
let uplinks: FakeUplinks;
/** The NIC of bridging mode. */
let bridgedNic: string | undefined;
let clock: ManualClock;
let state: SecondaryBridge;

/** A check when NICs without addresses have waited long enough. */
async function check(): Promise<void> {
    await state.check(signal);
    await clock.advance(5_000);
    await state.check(signal);
}

beforeEach(() => {
    links = [linkOf(2, "nic0", { mtu: 9000 }), linkOf(3, "nic1", { mtu: 1600 }), linkOf(4, "other", { mtu: 1200 })];
    addresses = [];
    bridge = new FakeBridge();
    log = [];
    disabled = new Set();
    uplinks = new FakeUplinks();
    bridgedNic = undefined;
    const netlink = fakeNetlink(links, addresses);
    const sysctls = {
        held: () => [...disabled],
        set: (key: string) => void disabled.add(key),
        undo: (key: string) => void disabled.delete(key),
    };
    clock = new ManualClock();
    state = new SecondaryBridge(
        {
            bridge,
            netlink,
            settings: new NicSettings({ netlink, sysctls }, { linkGroup: 7 }),
            bridgeOf: (name) => (bridge.names.includes(name) ? "br1" : undefined),
            uplinks,
            bridgedNic: () => bridgedNic,
            makeRoom: () => Promise.resolve(),
            clock,
            logger: listLogger(log),
        },
        { nics: ["nic0", "nic1"] },
    );
});

function remove(name: string): void {
    links.splice(
        links.findIndex((link) => link.name === name),
        1,
    );
}

describe("before the first check", () => {
    it("no Pod is connected, and there is no condition yet", async () => {
        expect([state.problem, state.mtu, state.connected, state.condition]).toEqual([
            "the bridge br1 is not made yet",
            0,
            0,
            undefined,
        ]);
        bridge.failure = new Error("no database");
        await expect(state.check(signal)).rejects.toThrow("no database");
        expect([state.problem, state.mtu, state.connected]).toEqual([
            "the bridge br1 is not made yet: no database",
            0,
            0,
        ]);
        expect(state.condition).toMatchObject({
            status: "False",
            reason: "BridgeNotReady",
            message: "the bridge cannot be made as configured: no database; no NIC of the bridge is connected",
        });
    });
});

describe("with all NICs", () => {
    it("Pods are connected, with an MTU that each NIC has", async () => {
        await check();
        expect(bridge.names).toEqual(["nic0", "nic1"]);
        expect([state.problem, state.mtu, state.connected]).toEqual([undefined, 1600, 2]);
        expect(state.condition).toEqual({
            type: secondaryBridgeCondition,
            status: "True",
            reason: "BridgeReady",
            message: "the NICs nic0, nic1 are ports of br1",
        });
        expect(log).toEqual([]);
    });

    it("Pods stay connected when the bridge cannot be checked, and the condition does not say otherwise", async () => {
        await check();
        bridge.failure = new Error("no database");
        await expect(state.check(signal)).rejects.toThrow("no database");
        expect([state.problem, state.connected]).toEqual([undefined, 2]);
        expect(state.condition).toMatchObject({
            reason: "BridgeNotReady",
            message: "the bridge cannot be made as configured: no database",
        });
    });

    it("the NICs are set up and apart from the Node, and nothing else is, also when they are reset", async () => {
        for (let times = 0; times < 2; times += 1) {
            for (const [at, link] of links.entries()) links[at] = { ...link, up: false, group: 0 };
            await check();
            expect(links.map(({ name, up, group }) => [name, up, group])).toEqual([
                ["nic0", true, 7],
                ["nic1", true, 7],
                ["other", false, 0],
            ]);
            expect([...disabled]).toEqual(["nic0", "nic1"].map((name) => `net/ipv6/conf/${name}/disable_ipv6`));
        }
    });

    it("one that gets an address stays connected, and the condition names what is wrong", async () => {
        await check();
        addresses.push(addressOf(3, parseIp("192.0.2.1")));
        await check();
        expect([bridge.names, state.connected, state.problem, state.mtu]).toEqual([
            ["nic0", "nic1"],
            2,
            undefined,
            1600,
        ]);
        expect(state.condition).toMatchObject({
            status: "False",
            message: expect.stringMatching(/^nic1 has the address 192\.0\.2\.1, /),
        });
    });

    it("one that another takes is given back as it was", async () => {
        await check();
        const [, nic1] = links;
        if (nic1 === undefined) throw new Error("no NIC");
        links[1] = { ...nic1, master: 4 };
        await check();
        expect(links[1]).toMatchObject({ group: 0, up: true });
        expect([...disabled]).toEqual(["net/ipv6/conf/nic0/disable_ipv6"]);
        expect(bridge.names).toEqual(["nic0"]);
    });

    it("so is one when the agent is killed as it is out of the bridge, where only that shows that it was a port", async () => {
        await check();
        links[1] = { ...linkOf(3, "nic1", { group: 7 }), master: 4 };
        bridge.isKilled = true;
        await expect(state.check(signal)).rejects.toThrow("killed");
        expect([bridge.names, links[1]]).toMatchObject([["nic0"], { group: 0 }]);
    });
});

describe("a NIC without addresses", () => {
    it("is no port before it has had none for five seconds, and the Node names it until then", async () => {
        await state.check(signal);
        expect([bridge.names, state.isWaiting("nic0"), state.connected, [...disabled], log]).toEqual([
            [],
            true,
            0,
            [],
            [],
        ]);
        expect(state.condition).toMatchObject({
            reason: "NICNotConnected",
            message: expect.stringMatching(/^nic0 has no address and no route; it becomes a port when .*; nic1 has no/),
        });
        await clock.advance(4_999);
        await state.check(signal);
        expect(bridge.names).toEqual([]);
        await clock.advance(1);
        await state.check(signal);
        expect([bridge.names, state.isWaiting("nic0")]).toEqual([["nic0", "nic1"], false]);
    });

    it("that gets one meanwhile is of the Node, and is neither moved nor a port when it loses it again", async () => {
        await state.check(signal);
        await clock.advance(4_000);
        addresses.push(addressOf(2, parseIp("192.0.2.1")));
        await state.check(signal);
        expect(state.nicsOfNode).toEqual(["nic0"]);
        addresses.length = 0;
        await clock.advance(9_000);
        await state.check(signal);
        expect([bridge.names, state.nicsOfNode, state.isWaiting("nic0")]).toEqual([["nic1"], [], false]);
        expect(state.condition?.message).toMatch(/^nic0 has no address and no route at the moment, /);
    });

    it("that was a port is one at once after the database was lost, also for another agent", async () => {
        disabled.add("net/ipv6/conf/nic1/disable_ipv6");
        await state.check(signal);
        expect(bridge.names).toEqual(["nic1"]);
    });
});

describe("without one of the NICs", () => {
    it("Pods are connected by the others, and the Node names the missing one; the log does so once", async () => {
        remove("nic1");
        for (let times = 0; times < 2; times += 1) await check();
        expect(bridge.names).toEqual(["nic0"]);
        expect([state.problem, state.mtu, state.connected]).toEqual([undefined, 9000, 1]);
        expect(state.condition).toMatchObject({
            status: "False",
            reason: "NICMissing",
            message: expect.stringMatching(/^nic1 does not exist; /),
        });
        expect(log).toMatchObject([{ level: "warn", fields: { reason: state.condition?.message } }]);
    });

    it("the check finds it when it comes, and another loss is logged again", async () => {
        const [, nic1] = links;
        if (nic1 === undefined) throw new Error("no NIC");
        remove("nic1");
        await check();
        links.push(nic1);
        await check();
        expect([bridge.names, state.mtu, state.condition?.status]).toEqual([["nic0", "nic1"], 1600, "True"]);
        remove("nic1");
        await check();
        expect(log).toHaveLength(2);
    });

    it("that OVS cannot open, the Node has its words", async () => {
        bridge.errors.set("nic1", "could not open network device nic1 (Device busy)");
        await check();
        expect([state.problem, state.connected]).toEqual([undefined, 1]);
        expect(state.condition).toMatchObject({
            status: "False",
            message:
                "OVS cannot open nic1: could not open network device nic1 (Device busy); see the log of ovs-vswitchd",
        });
    });
});

describe("without any NIC", () => {
    it("no Pod is connected, for reasons that name each", async () => {
        remove("nic0");
        bridge.errors.set("nic1", "busy");
        await check();
        expect(state.problem).toMatch(
            /^no NIC of br1 is connected: nic0 does not exist; .*; OVS cannot open nic1: busy/,
        );
        expect(state.condition?.message).toMatch(
            /^nic0 does not exist; .*; OVS cannot open nic1: busy; .*; no NIC of the bridge is connected$/,
        );
    });

    it("the bridge is made nevertheless, and has no MTU", async () => {
        addresses.push(addressOf(2, parseIp("192.0.2.1")), addressOf(3, parseIp("2001:db8::1")));
        await check();
        expect([bridge.names, state.mtu, state.connected]).toEqual([[], 0, 0]);
        expect(state.problem).toMatch(/nic0 is being connected, .*; nic1 is being connected, /);
    });
});

describe("a NIC that the Node uses", () => {
    beforeEach(() => {
        addresses.push(addressOf(3, parseIp("192.0.2.1")));
    });

    it("waits until its addresses are on a host port, and is left alone meanwhile", async () => {
        await check();
        expect([state.nicsOfNode, bridge.names, state.connected, [...disabled]]).toEqual([
            ["nic1"],
            ["nic0"],
            1,
            ["net/ipv6/conf/nic0/disable_ipv6"],
        ]);
        expect(state.condition).toMatchObject({
            status: "False",
            reason: "NICNotConnected",
            message: "nic1 is being connected, with its addresses on a host port",
        });
    });

    it("is connected by the port to its own bridge then, with the MTU of the host port", async () => {
        uplinks.move("nic1");
        links.push(linkOf(9, "nic1~"));
        await check();
        expect([bridge.names, state.connected, state.mtu, state.problem]).toEqual([
            ["nic0", "patch-nic1"],
            2,
            1600,
            undefined,
        ]);
        expect(state.condition).toMatchObject({ status: "True", message: "the NICs nic0, nic1 are ports of br1" });
    });

    it("is taken out when it is given back to the Node", async () => {
        uplinks.move("nic1");
        await check();
        uplinks.states.set("nic1", { kind: "lost", name: "nic1", reason: "OVS has been away for 5 s" });
        await check();
        expect([bridge.names, state.connected]).toEqual([["nic0"], 1]);
        expect(state.condition?.message).toMatch(/^nic1 was given back to the Node: OVS has been away for 5 s; /);
    });

    it("has its own reason when the move was undone, or cannot be made", async () => {
        uplinks.states.set("nic1", { kind: "rolledBack", name: "nic1", reason: "nobody answered" });
        await check();
        expect(state.condition).toMatchObject({
            reason: "NICRolledBack",
            message: expect.stringMatching(/^the move of nic1 was undone: nobody answered; .* restart the agent/),
        });
        uplinks.states.clear();
        for (const [code, reason] of [
            ["MULTIPATH_ROUTES", "NICUnsuitable"],
            ["NIC_IN_USE", "NICTaken"],
            ["NIC_MISSING", "NICMissing"],
            ["JOURNAL_UNWRITABLE", "NICNotConnected"],
        ] as const) {
            uplinks.failures.set("nic1", new UplinkError(code, "environment", "no way"));
            await check();
            expect(state.condition).toMatchObject({ reason, message: "nic1 is not connected: no way" });
        }
        uplinks.failures.clear();
        uplinks.states.set("nic1", { kind: "waiting", name: "nic1", reason: "the API server does not answer" });
        await check();
        expect(state.condition).toMatchObject({
            reason: "NICNotConnected",
            message: "nic1 is not connected yet: the API server does not answer",
        });
    });

    it("is reported when it is removed, or OVS cannot open it, while the host port has its name", async () => {
        uplinks.move("nic1");
        await check();
        expect(state.condition).toMatchObject({
            reason: "NICMissing",
            message: expect.stringMatching(/^nic1, named nic1~ as a port, does not exist any more; /),
        });
        expect([bridge.names, state.connected]).toEqual([["nic0", "patch-nic1"], 1]);
        links.push(linkOf(9, "nic1~"));
        uplinks.portErrors.set("nic1", "busy");
        await check();
        expect(state.condition?.message).toBe("OVS cannot open nic1: busy; see the log of ovs-vswitchd");
    });

    it("becomes one after a start, though an earlier one made it a port without addresses", async () => {
        await bridge.ensure(["nic0", "nic1"]);
        disabled.add("net/ipv6/conf/nic1/disable_ipv6");
        await check();
        expect([state.nicsOfNode, bridge.names]).toEqual([["nic1"], ["nic0"]]);
        expect([...disabled]).toEqual(["net/ipv6/conf/nic0/disable_ipv6"]);
    });

    it("and others that an agent prepared which was killed before it gave them back have their settings again", async () => {
        disabled.add("net/ipv6/conf/nic1/disable_ipv6").add("net/ipv6/conf/other/disable_ipv6");
        links[2] = linkOf(4, "other", { group: 7 });
        await check();
        expect([...disabled]).toEqual(["net/ipv6/conf/nic0/disable_ipv6"]);
        expect(links[2]).toMatchObject({ group: 0 });
    });

    it("is that of bridging mode, which it is given back for", async () => {
        uplinks.move("nic1");
        bridgedNic = "nic1";
        await check();
        expect([uplinks.released, state.nicsOfNode, bridge.names]).toEqual([["nic1"], [], ["nic0"]]);
        expect(state.condition).toMatchObject({
            reason: "NICTaken",
            message: "nic1 is the uplink of bridging mode; name another NIC",
        });
    });
});
