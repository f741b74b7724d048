import { expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { NetlinkError, type Link, type NetlinkEvent } from "@antrea/netlink";
import { Transport, type TransportComponents } from "../../../../src/platform/host/transport/index.ts";
import { silentLogger } from "../../../support/logger.ts";

const link = { name: "eth0", index: 2, mtu: 1500 } as Link;

async function start() {
    let heard: (event: NetlinkEvent) => void = () => undefined;
    const kernel = { link: link as Link | undefined, fails: false };
    const netlink: TransportComponents["netlink"] = {
        link: async () => {
            if (kernel.fails) throw new NetlinkError("NO_ANSWER", "timeout", "no answer");
            return kernel.link;
        },
        addresses: (async () => [{ ip: parseIp("192.0.2.7"), prefixLength: 24, tentative: false }]) as never,
        subscribe: (_topics, listener) => {
            heard = listener;
            return { [Symbol.dispose]: () => undefined };
        },
    };
    const transport = await Transport.of({ netlink, logger: silentLogger }, link);
    let calls = 0;
    transport.onChange(() => (calls += 1));
    return { transport, kernel, stir: () => heard({ type: "link", link } as NetlinkEvent), calls: () => calls };
}

it("reports a change that was temporary", async () => {
    const { transport, stir, calls } = await start();
    await transport.check();
    expect(calls()).toBe(0);
    stir();
    await transport.check();
    await transport.check();
    expect(calls()).toBe(1);
});

it("reports it later if the kernel cannot be asked, or the interface is away, at the next check", async () => {
    const { transport, kernel, stir, calls } = await start();
    stir();
    kernel.fails = true;
    await expect(transport.check()).rejects.toMatchObject({ code: "NO_ANSWER" });
    kernel.fails = false;
    kernel.link = undefined;
    await transport.check();
    kernel.link = link;
    await transport.check();
    expect(calls()).toBe(1);
});
