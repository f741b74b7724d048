import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import { ipToBytes, parseIp, parseMac } from "@antrea/ip";
import { sendFrames } from "@antrea/netlink/testing";
import { eventually } from "../../../support/eventually.ts";
import { UplinkNode } from "./support/uplink-node.ts";

const prefix = "fd55::";
const router = "fe80::99";
const routerLifetimeSeconds = 1_800;
const prefixLifetimeSeconds = 3_600;

let node: UplinkNode;

beforeAll(async () => {
    node = await UplinkNode.start();
});

afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
});

/** A router advertisement (RFC 4861 section 4.2) with a prefix for addresses of one's own. */
function advertisement(mac: Uint8Array): Uint8Array {
    const body = Buffer.alloc(16 + 32);
    body.writeUInt8(134, 0);
    body.writeUInt8(64, 4);
    body.writeUInt16BE(routerLifetimeSeconds, 6);
    body.set([3, 4, 64, 0xc0], 16);
    body.writeUInt32BE(prefixLifetimeSeconds, 20);
    body.writeUInt32BE(prefixLifetimeSeconds / 2, 24);
    body.set(ipToBytes(parseIp(prefix)), 32);
    const [source, destination] = [ipToBytes(parseIp(router)), ipToBytes(parseIp("ff02::1"))];
    const pseudo = Buffer.concat([source, destination, Buffer.from([0, 0, 0, body.length, 0, 0, 0, 58]), body]);
    let sum = 0;
    for (let at = 0; at < pseudo.length; at += 2) sum += pseudo.readUInt16BE(at);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    body.writeUInt16BE(~sum & 0xffff, 2);
    const header = Buffer.from([0x60, 0, 0, 0, 0, body.length, 58, 255]);
    return Buffer.concat([
        parseMac("33:33:00:00:00:01"),
        mac,
        Buffer.from([0x86, 0xdd]),
        header,
        source,
        destination,
        body,
    ]);
}

function advertise(): void {
    const [, mac = ""] = /link\/ether (\S+)/.exec(node.router.run("ip", "link", "show", "r0")) ?? [];
    sendFrames(node.router.path, "r0", [advertisement(parseMac(mac))]);
}

interface Learned {
    /** Seconds that the address is still valid. */
    readonly address: number;
    readonly routes: readonly string[];
}

function learned(): Learned {
    const address = node
        .ip("-6", "-o", "addr", "show", "dev", "eth0")
        .split("\n")
        .find((line) => line.includes(prefix));
    const usable = address !== undefined && !address.includes("tentative");
    const routes = node.ip("-6", "route", "show", "default", "dev", "eth0").split("\n").slice(0, -1);
    return {
        address: usable ? Number(/valid_lft (\d+)sec/.exec(address)?.[1]) : 0,
        routes: routes.map((line) => line.trim().replace(/ expires \d+sec/, " expires")),
    };
}

const own = ["default via fe80::99 proto ra metric 1024 expires hoplimit 64 pref medium"];
const kept = ["default via fe80::99 metric 1025 expires pref medium"];

/** Address and route are as the last advertisement made them. */
async function refreshed(): Promise<Learned> {
    const done = ({ address, routes }: Learned): boolean =>
        address >= prefixLifetimeSeconds - 1 && routes.join() === own.join();
    const read = async (): Promise<Learned> => {
        // Each time: its seconds run while the machine is busy.
        advertise();
        await sleep(50);
        return learned();
    };
    const last = await eventually(read, done, 20_000);
    expect(last.address).toBeGreaterThanOrEqual(prefixLifetimeSeconds - 1);
    return last;
}

it("what a router advertised goes over with the rest of its life, and its next advertisement counts", async () => {
    node.ip("-6", "route", "del", "default");
    // One that does not call itself a router in its answers loses the routes that it advertised.
    node.router.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1");
    expect((await refreshed()).routes).toEqual(own);
    const before = node.truth();
    for (const actions of [
        ["recover", "connect"],
        ["recover", "restore"],
    ] as const) {
        await sleep(2_500);
        await node.run({ actions });
        const moved = learned();
        expect(moved.routes).toEqual(kept);
        expect(moved.address).toBeGreaterThan(0);
        expect(moved.address).toBeLessThan(prefixLifetimeSeconds - 1);
        expect((await refreshed()).routes).toEqual(own);
    }
    expect(node.truth()).toEqual(before);
});
