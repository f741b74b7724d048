import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { formatMac } from "@antrea/ip";
import { getSysctl, setSysctl, txChecksumOffload } from "@antrea/netlink";
import { TestNode, type TestAgent } from "../../../support/test-node.ts";
import { TestPod } from "../../../support/test-pod.ts";

let node: TestNode;
let agent: TestAgent;

beforeAll(async () => {
    node = await TestNode.start();
    agent = await node.startAgent();
});

afterAll(async () => {
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
});

function ip(...args: readonly string[]): string {
    return execFileSync("ip", args, { encoding: "utf8" });
}

function addresses(): readonly string[] {
    const found = ip("-o", "addr", "show", "dev", node.gateway, "scope", "global").matchAll(/inet6? (\S+)/g);
    return [...found].map((match) => match[1] ?? "");
}

const wanted = ["10.10.1.1/24", "fd10:10:0:1::1/64"];

describe("the gateway", () => {
    it("has the first address of each podCIDR, its MAC, MTU and settings, and nothing to compute for others", () => {
        expect(addresses()).toEqual(wanted);
        const link = ip("-o", "link", "show", node.gateway);
        expect(link).toContain(`link/ether ${formatMac(agent.gateway.mac)}`);
        expect(link).toContain("mtu 1400");
        expect(link).toContain("UP");
        expect(getSysctl(undefined, "net/ipv4/ip_forward")).toBe("1");
        expect(getSysctl(undefined, "net/ipv6/conf/all/forwarding")).toBe("1");
        expect(getSysctl(undefined, `net/ipv4/conf/${node.gateway}/arp_announce`)).toBe("1");
        expect(txChecksumOffload(node.gateway)).toBe(false);
    });

    it("is left alone when all is well", async () => {
        // the kernel detects duplicates of its own link-local address meanwhile
        const shown = (): string => ip("-d", "addr", "show", node.gateway).replace(" tentative", "");
        const before = shown();
        await agent.gateway.ensureDevice();
        expect(shown()).toBe(before);
    });

    it.each<[string, readonly string[]]>([
        ["an address is removed", ["addr", "del", "10.10.1.1/24"]],
        ["an IPv6 address is removed", ["-6", "addr", "del", "fd10:10:0:1::1/64"]],
        ["an address is added, as of an earlier podCIDR", ["addr", "add", "10.9.9.1/24"]],
        ["an IPv6 address is added", ["-6", "addr", "add", "fd99::1/64"]],
        ["it is switched off", ["link", "set", "down"]],
        ["its MTU is changed", ["link", "set", "mtu", "1300"]],
    ])("is put right when %s", async (_, [kind = "", ...rest]) => {
        const six = kind === "-6" ? ["-6"] : [];
        const command = six.length > 0 ? rest : [kind, ...rest];
        const at = command[0] === "link" ? 2 : command.length;
        ip(...six, ...command.slice(0, at), "dev", node.gateway, ...command.slice(at));
        await agent.gateway.ensureDevice();
        expect([...addresses()].sort()).toEqual(wanted);
        expect(ip("-o", "link", "show", node.gateway)).toMatch(/[<,]UP[,>].* mtu 1400 /);
    });

    // ovs-vswitchd of the userspace datapath does so too, where it runs and sees the change
    it("gets its MAC address back when somebody changed it", async () => {
        const own = formatMac(agent.gateway.mac);
        await node.ovs.killVswitchd();
        try {
            ip("link", "set", "dev", node.gateway, "address", "02:00:00:00:00:99");
            await agent.gateway.ensureDevice();
            expect(ip("-o", "link", "show", node.gateway)).toContain(`link/ether ${own}`);
            expect([...addresses()].sort()).toEqual(wanted);
        } finally {
            await node.ovs.startVswitchd();
        }
    });
});

describe("a gateway whose device somebody has deleted, while its port is in the database", () => {
    const ofPort = (): Promise<string> => node.ovs.vsctl("get", "interface", node.gateway, "ofport");

    it("comes back by the next check, with its MAC address, its number and its addresses; Pods have their flows", async () => {
        using pod = new TestPod();
        await agent.add(pod);
        const number = await ofPort();
        for (const loss of ["once", "again"]) {
            ip("link", "del", node.gateway);
            await node.ovs.ofctl("del-flows", node.bridge, "table=4");
            await agent.resync();
            expect([loss, ...addresses()].sort()).toEqual([...wanted, loss].sort());
            expect(ip("-o", "link", "show", node.gateway)).toContain(`link/ether ${formatMac(agent.gateway.mac)}`);
            expect(ip("-o", "link", "show", node.gateway)).toMatch(/[<,]UP[,>].* mtu 1400 /);
            expect(await ofPort()).toBe(number);
            expect(pod.netns.run("ping", "-c", "1", "-W", "30", "10.10.1.1")).toContain("1 received");
        }
        await agent.del(pod);
    });

    it("has flows for its new number where another port has got its number meanwhile", async () => {
        const flows = (): Promise<string> => node.ovs.ofctl("--names", "--no-stats", "dump-flows", node.bridge);
        const number = await ofPort();
        expect(await flows()).toMatch(/in_port="?antrea-gw0/);
        const other = ["interface", "other", "type=internal", `ofport_request=${number.trim()}`];
        await node.ovs.vsctl("add-port", node.bridge, "other", "--", "set", ...other);
        try {
            ip("link", "del", node.gateway);
            await agent.resync();
            expect(addresses()).toEqual(wanted);
            expect(await ofPort()).not.toBe(number);
            expect(await flows()).toMatch(/in_port="?antrea-gw0/);
            expect(await flows()).not.toMatch(/in_port="?other/);
        } finally {
            await node.ovs.vsctl("del-port", "other");
        }
    });

    it("comes back by the start of an agent", async () => {
        const { mac } = agent.gateway;
        await agent.stop();
        ip("link", "del", node.gateway);
        agent = await node.startAgent();
        expect(addresses()).toEqual(wanted);
        expect(agent.gateway.mac).toEqual(mac);
    });
});

describe("a Node that lives by router advertisements", () => {
    const acceptRa = (name: string): string => getSysctl(undefined, `net/ipv6/conf/${name}/accept_ra`);

    it("keeps its default routes by any interface, and believes no other interface more than before", async () => {
        setSysctl(undefined, "net/ipv6/conf/all/forwarding", "0");
        for (const name of ["nic", "docker"]) {
            ip("link", "add", name, "type", "veth", "peer", "name", `${name}-peer`);
            for (const end of [name, `${name}-peer`]) ip("link", "set", end, "up");
            setSysctl(undefined, `net/ipv6/conf/${name}/accept_ra`, "1");
        }
        // as the kernel makes it of an advertisement
        ip("-6", "route", "add", "default", "via", "fe80::1", "dev", "nic", "proto", "ra");
        await agent.gateway.ensureDevice();
        expect([acceptRa("nic"), acceptRa("docker")]).toEqual(["2", "1"]);
        expect(getSysctl(undefined, "net/ipv6/conf/all/forwarding")).toBe("1");
        expect(ip("-6", "route", "show", "default")).toContain("via fe80::1 dev nic");
        for (const name of ["nic", "docker"]) ip("link", "del", name);
    });
});
