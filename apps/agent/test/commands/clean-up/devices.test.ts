import { expect, it } from "@jest/globals";
import type { Link, Netlink } from "@antrea/netlink";
import { removeDatapathPorts } from "../../../src/commands/clean-up/devices.ts";

const links = [
    { name: "ovs-system", kind: "openvswitch" },
    { name: "br-int", kind: "openvswitch" },
    { name: "web-0-12ab", kind: "veth" },
] as Link[];

async function calls(names: { bridge: string; gateway: string } | undefined, podLinks: boolean): Promise<string[]> {
    const asked: string[] = [];
    const run = async (_: string, args: readonly string[]): Promise<string> => {
        asked.push(args.join(" "));
        return "ovs-system:\n  port 0: ovs-system (internal)\n  port 1: br-int (internal)\n  port 2: web-0-12ab\n";
    };
    const netlink = { links: () => Promise.resolve(links) } as unknown as Netlink;
    const isPodLink = ({ kind }: Link): boolean => podLinks && kind === "veth";
    await removeDatapathPorts({ run, netlink, isPodLink }, names, { otherBridges: () => [] });
    return asked.filter((one) => one.startsWith("del"));
}

it("takes nothing out of the kernel's datapath of another plugin, which may use our names", async () => {
    expect(await calls(undefined, false)).toEqual([]);
});

it("takes out of the kernel's datapath what is known to be the agent's", async () => {
    const names = { bridge: "br-int", gateway: "antrea-gw0" };
    expect(await calls(names, true)).toEqual([
        "del-if ovs-system br-int",
        "del-if ovs-system web-0-12ab",
        "del-dp ovs-system",
    ]);
});
