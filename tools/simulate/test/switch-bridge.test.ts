import { beforeEach, describe, expect, it } from "@jest/globals";
import { Truth } from "../check/truth.ts";
import { LocalIo } from "../machine/io.ts";
import { etherLink } from "../machine/links.ts";
import { Machine } from "../machine/machine.ts";
import { MachineSwitchBridge } from "../machine/switch-bridge.ts";
import { Random } from "../time/random.ts";
import { VirtualTime } from "../time/virtual-time.ts";
import { switchCases, type SwitchNode } from "./switch-bridge-cases.ts";

let time: VirtualTime;
let machine: Machine;
let node: SwitchNode;

beforeEach(() => {
    time = new VirtualTime();
    const truth = new Truth({ isClaimed: () => true, isUnheard: () => false, isForeign: () => false });
    const nothing = (): void => undefined;
    machine = new Machine(truth, {
        name: "a",
        address: "192.168.0.10",
        cniFiles: {},
        wired: nothing,
        wiredNetwork: nothing,
        isolatedNetwork: nothing,
    });
    const io = new LocalIo(time, new Random(1));
    node = {
        bridge: new MachineSwitchBridge(machine, io, "br1"),
        addLink: (name) => {
            const link = etherLink({ index: machine.nextIndex(), name, mac: "02:00:00:00:00:09", mtu: 1500 });
            machine.links.set(name, link);
        },
        removeLink: (name) => machine.deleteLink(name),
    };
});

async function inVirtualTime<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    work.then(end, end);
    await time.run(() => isOver);
    return work;
}

describe("the simulated bridge for networks", () => {
    it.each(switchCases)("$name", async ({ run, expected }) => {
        expect(await inVirtualTime(run(node))).toEqual(expected);
    });

    it("writes nothing while OVS is unavailable", async () => {
        await inVirtualTime(node.bridge.ensure([]));
        machine.stopOvs();
        await expect(inVirtualTime(node.bridge.ensurePorts([]))).rejects.toMatchObject({ code: "DISCONNECTED" });
        machine.startOvs();
        await inVirtualTime(node.bridge.ensurePorts([]));
    });
});
