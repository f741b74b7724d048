import { describe, expect, it } from "@jest/globals";
import { createHash } from "node:crypto";
import { parseIp, parseMac } from "@antrea/ip";
import { hostInterfaceName, hostMacOf, macOf } from "../../../src/features/pod-network/names.ts";

const containerId = "0f".repeat(32);
const digits = createHash("sha1").update(containerId).digest("hex").slice(0, 6);

describe("the name of the host end", () => {
    it.each([
        ["a short Pod name", "web-0", `web-0-${digits}`],
        ["a long Pod name", "antrea-controller-7d9", `antrea-c-${digits}`],
        ["a dot at the cut", "a.b.c.d.e", `a.b.c.d.-${digits}`],
        ["letters that a link name cannot have", "pod/a:b c", `pod-a-b--${digits}`],
        ["nothing usable", "---", `pod-${digits}`],
        ["no name", "", `pod-${digits}`],
    ])("%s", (_, podName, expected) => {
        const name = hostInterfaceName(podName, containerId, "eth0");
        expect(name).toBe(expected);
        expect(name.length).toBeLessThanOrEqual(15);
    });

    it("differs by container, by interface other than eth0, and by attempt", () => {
        const names = [
            hostInterfaceName("web-0", containerId, "eth0"),
            hostInterfaceName("web-0", "ab".repeat(32), "eth0"),
            hostInterfaceName("web-0", containerId, "net1"),
            hostInterfaceName("web-0", containerId, "eth0", 1),
            hostInterfaceName("web-0", containerId, "eth0", 2),
        ];
        expect(new Set(names).size).toBe(names.length);
    });
});

describe("the MAC address", () => {
    it.each([
        ["10.10.1.5", "0a:58:0a:0a:01:05"],
        ["255.0.0.1", "0a:58:ff:00:00:01"],
    ])("of %s holds its bytes", (ip, mac) => {
        expect(macOf(parseIp(ip))).toBe(mac);
    });

    it("of an IPv6 address is its own, always the same, unicast and locally administered", () => {
        const macs = ["fd00::1", "fd00::2", "fd00:1::1"].map((ip) => macOf(parseIp(ip)));
        expect(new Set(macs).size).toBe(3);
        expect(macOf(parseIp("fd00::1"))).toBe(macs[0]);
        for (const mac of [...macs, ...macs.map(hostMacOf)]) expect((parseMac(mac)[0] ?? 0) & 3).toBe(2);
    });

    it("of the host end is another", () => {
        expect(hostMacOf("0a:58:0a:0a:01:05")).toBe("0e:58:0a:0a:01:05");
    });
});
