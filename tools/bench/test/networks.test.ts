import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { requesting, vlanNetworks } from "../networks/vlan-networks.ts";
import { atOnce, metaPluginIn, oneByOne } from "../networks/ways.ts";

describe("VLAN networks", () => {
    const networks = vlanNetworks(16);

    it("have a VLAN, a pool and a configuration of their own, under one name", () => {
        const configs = networks.map(({ config }) => JSON.parse(config) as object);
        expect(configs[15]).toEqual({
            cniVersion: "1.0.0",
            name: "vlan116",
            type: "antrea",
            networkType: "vlan",
            vlan: 116,
            ipam: { type: "antrea", ippools: ["vlan116"] },
        });
        expect(new Set(networks.map(({ vlan }) => vlan)).size).toBe(16);
    });

    it("are requested in their order, and no annotation requests none", () => {
        expect(requesting(networks.slice(0, 2))).toEqual({ "k8s.v1.cni.cncf.io/networks": "vlan101,vlan102" });
        expect(requesting([])).toEqual({});
    });
});

describe("the steps of a meta plugin", () => {
    it("begin with the Pod network, and give each network the name that the annotation gives it", () => {
        const networks = vlanNetworks(3);
        const steps = oneByOne(networks);
        expect(steps.map(({ ifname }) => ifname)).toEqual(["eth0", "eth1", "eth2", "eth3"]);
        expect(steps[0]).toEqual(atOnce[0]);
        expect(steps.slice(1).map(({ config }) => config)).toEqual(networks.map(({ config }) => config));
    });

    it("are taken while its file is the first in the CNI folder", () => {
        const folder = mkdtempSync(join(tmpdir(), "net.d-"));
        try {
            writeFileSync(join(folder, "10-antrea.conflist"), "{}");
            {
                using _meta = metaPluginIn(folder);
                const [first = ""] = readdirSync(folder).sort();
                expect(JSON.parse(readFileSync(join(folder, first), "utf8"))).toMatchObject({ type: "meta" });
            }
            expect(readdirSync(folder)).toEqual(["10-antrea.conflist"]);
        } finally {
            rmSync(folder, { recursive: true });
        }
    });
});
