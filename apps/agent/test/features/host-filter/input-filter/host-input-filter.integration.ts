import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { HostInputFilter } from "../../../../src/features/host-filter/input-filter/index.ts";
import { rulesGeneration, runNft } from "../../../../src/platform/nftables.ts";
import { eventually } from "../../../support/eventually.ts";
import { silentLogger } from "../../../support/logger.ts";
import { OwnNamespace, TestNetns } from "../../../support/namespace.ts";

const group = 178;
let node: OwnNamespace;
let pod: TestNetns;

function ip(...args: readonly string[]): void {
    execFileSync("ip", args);
}

beforeEach(() => {
    node = OwnNamespace.enter();
    pod = new TestNetns("pod");
    ip("link", "add", "host", "type", "veth", "peer", "name", "eth0", "netns", pod.name);
    ip("link", "set", "host", "up", "group", String(group));
    ip("addr", "add", "10.1.0.1/24", "dev", "host");
    ip("addr", "add", "fd00:1::1/64", "dev", "host", "nodad");
    for (const line of ["link set eth0 up", "addr add 10.1.0.2/24 dev eth0", "addr add fd00:1::2/64 dev eth0 nodad"]) {
        ip("-n", pod.name, ...line.split(" "));
    }
});

afterEach(() => {
    pod[Symbol.dispose]();
    node[Symbol.dispose]();
});

/** Whether the Node's stack answers, and by which neighbour entry the Pod knows it. */
function answers(address: string): boolean {
    ip("-n", pod.name, "neighbour", "flush", "dev", "eth0");
    // Else the Node verifies what it knows after some seconds, and the Pod learns the Node's address from its question.
    ip("neighbour", "flush", "dev", "host");
    try {
        execFileSync("ip", ["netns", "exec", pod.name, "ping", "-c", "1", "-W", "1", address], { stdio: "ignore" });
        return true;
    } catch {
        return false;
    }
}

it("the Node's stack gets nothing of what a Pod sends, not even questions for its address", async () => {
    // The Pod's interface comes up, and with it its IPv6 address.
    for (const address of ["10.1.0.1", "fd00:1::1"]) {
        expect([address, await eventually(() => answers(address), Boolean)]).toEqual([address, true]);
    }
    const inputFilter = new HostInputFilter(
        { generation: rulesGeneration, logger: silentLogger, nft: runNft },
        { linkGroup: group },
    );
    await inputFilter.ensure();
    expect([answers("10.1.0.1"), answers("fd00:1::1")]).toEqual([false, false]);
    const neighbours = execFileSync("ip", ["-n", pod.name, "neighbour"], { encoding: "utf8" });
    expect(neighbours).not.toMatch(/lladdr/);
    ip("link", "set", "host", "group", "0");
    for (const address of ["10.1.0.1", "fd00:1::1"]) {
        expect([address, await eventually(() => answers(address), Boolean)]).toEqual([address, true]);
    }
});

it("the tables are put back when somebody removes them, and others stay", async () => {
    const nft = (...args: readonly string[]): string => execFileSync("nft", args, { encoding: "utf8" });
    nft("add", "table", "inet", "other");
    const inputFilter = new HostInputFilter(
        { generation: rulesGeneration, logger: silentLogger, nft: runNft },
        { linkGroup: group },
    );
    await inputFilter.ensure();
    const wanted = nft("list", "ruleset");
    await inputFilter.ensure();
    nft("delete", "table", "arp", "antrea-guard");
    nft("flush", "table", "inet", "antrea-guard");
    await inputFilter.ensure();
    expect(nft("list", "ruleset").split("\n").toSorted()).toEqual(wanted.split("\n").toSorted());
    expect(wanted).toContain("table inet other");
});
