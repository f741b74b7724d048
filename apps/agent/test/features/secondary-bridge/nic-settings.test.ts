import { beforeEach, describe, expect, it } from "@jest/globals";
import { NetlinkError, type Link, type Netlink } from "@antrea/netlink";
import { NicSettings } from "../../../src/features/secondary-bridge/nic-settings.ts";
import { fakeNetlink, linkOf } from "../../platform/host/uplink/support/fake-links.ts";

const key = "net/ipv6/conf/nic0/disable_ipv6";
const pods = 7;

/** Sysctls of the Node that are remembered when they are set. */
class FakeSysctls {
    readonly values = new Map([[key, "0"]]);
    readonly #before = new Map<string, string>();
    failure: Error | undefined;

    held(): readonly string[] {
        return [...this.#before.keys()];
    }

    set(name: string, value: string): void {
        if (this.failure !== undefined) throw this.failure;
        this.#before.set(name, this.values.get(name) ?? "");
        this.values.set(name, value);
    }

    undo(name: string): void {
        const before = this.#before.get(name);
        if (before !== undefined) this.values.set(name, before);
        this.#before.delete(name);
    }
}

let links: Link[];
let sysctls: FakeSysctls;
let netlink: Netlink;

beforeEach(() => {
    links = [linkOf(2, "nic0", { up: false }), linkOf(3, "other", { up: false })];
    sysctls = new FakeSysctls();
    netlink = fakeNetlink(links);
});

const settings = (linkGroup?: number): NicSettings => new NicSettings({ netlink, sysctls }, { linkGroup });
const shown = (): readonly unknown[] => [
    ...links.map(({ name, up, group }) => `${name} ${up} ${group}`),
    sysctls.values.get(key),
];

describe("a NIC that is made a port", () => {
    it("is up, without IPv6, and in the group whose frames the Node drops", async () => {
        for (let times = 0; times < 2; times += 1) {
            await settings(pods).prepare("nic0");
            expect(shown()).toEqual(["nic0 true 7", "other false 0", "1"]);
        }
    });

    it("stays in its group on a datapath that takes the frames from the Node", async () => {
        await settings().prepare("nic0");
        expect(shown()).toEqual(["nic0 true 0", "other false 0", "1"]);
    });

    it("may be gone", async () => {
        sysctls.failure = new NetlinkError("ENOENT", "environment", "no such sysctl");
        await settings(pods).prepare("none");
        sysctls.failure = undefined;
        netlink.setLink = () => Promise.reject(new NetlinkError("ENODEV", "environment", "no such device"));
        await settings(pods).prepare("nic0");
    });

    it("is not ready when the kernel refuses it", async () => {
        sysctls.failure = new NetlinkError("EACCES", "environment", "read-only");
        await expect(settings(pods).prepare("nic0")).rejects.toThrow("read-only");
    });
});

describe("a NIC that is given back", () => {
    it("has IPv6 and its group again, and stays up", async () => {
        await settings(pods).prepare("nic0");
        await settings(pods).release(["nic0"]);
        expect(shown()).toEqual(["nic0 true 0", "other false 0", "0"]);
    });

    it("keeps a group that somebody else has put it into", async () => {
        links[0] = linkOf(2, "nic0", { group: 9 });
        await settings(pods).release(["nic0"]);
        expect(shown()[0]).toBe("nic0 true 9");
    });

    it("keeps what was never changed, and may be gone", async () => {
        await settings().release(["nic0"]);
        await settings(pods).release(["none"]);
        expect(shown()).toEqual(["nic0 false 0", "other false 0", "0"]);
    });
});

describe("NICs that an earlier agent made ports", () => {
    it("are known, and given back one by one", async () => {
        expect(settings(pods).prepared()).toEqual([]);
        await settings(pods).prepare("nic0");
        await settings(pods).prepare("other");
        sysctls.set("net/ipv4/ip_forward", "1");
        expect(settings(pods).prepared()).toEqual(["nic0", "other"]);
        await settings(pods).release(["nic0", "nic0", "none"]);
        expect(shown()).toEqual(["nic0 true 0", "other true 7", "0"]);
        expect(settings(pods).prepared()).toEqual(["other"]);
        expect(sysctls.values.get("net/ipv4/ip_forward")).toBe("1");
    });
});
