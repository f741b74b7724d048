import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Journal } from "../../../../src/platform/host/uplink/journal.ts";
import { Rollback } from "../../../../src/platform/host/uplink/rollback.ts";
import { silentLogger } from "../../../support/logger.ts";
import { entry } from "./support/entries.ts";
import { fakeNetlink, linkOf } from "./support/fake-links.ts";

let folder: string;

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rollback-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("frees a device of the kernel's datapath that has the NIC's name once more", async () => {
    const links = [linkOf(2, "eth0~")];
    const freed: string[] = [];
    const rollback = new Rollback({
        netlink: fakeNetlink(links),
        logger: silentLogger,
        uptimeSeconds: () => 1_000,
        journal: new Journal(
            {
                logger: silentLogger,
                // An OVS that did not hear of the removal makes it again.
                fault: (step, moment) => {
                    if (step === "rename-back" && moment === "before")
                        links.push(linkOf(9, "eth0", { kind: "openvswitch" }));
                },
            },
            { folder },
        ),
        removePorts: async () => true,
        freeFromDatapath: async (name) => {
            freed.push(name);
            links.splice(1, 1);
        },
    });
    const { ipv6Disabled: _, addrGenMode: _mode, ...nic } = { ...entry.nic, txChecksumOffload: false };
    const saved = { takenAt: 1_000, addresses: [], routes: [], neighbours: [], altNames: [] };
    await rollback.run({ ...entry, nic, saved }, { bootId: entry.bootId, netns: entry.netns });
    expect(freed).toEqual(["eth0"]);
    expect(links.map(({ name }) => name)).toEqual(["eth0"]);
});
