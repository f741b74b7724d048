import { describe, expect, it } from "@jest/globals";
import { type IpPool } from "@antrea/crd";
import { readPool } from "@antrea/ipam";
import { KubeError, networkAttachmentDefinitions, type ApiClient } from "@antrea/kube";
import { NetworkUsers } from "../../src/networks/index.ts";
import { FakeApi } from "../support/fake-api.ts";
import { networkOf, poolOf } from "../support/objects.ts";

const { signal } = new AbortController();
const pool = readPool(
    poolOf("pool", { start: "10.1.0.10", end: "10.1.0.20", gateway: "10.1.0.1", prefixLength: 24 }) as IpPool,
);

async function users(config: unknown): Promise<readonly string[]> {
    const fake = new FakeApi();
    fake.put(networkAttachmentDefinitions, networkOf("net1", config));
    return new NetworkUsers({ api: fake.api }).of(pool, signal);
}

const ipam = (section: object): object => ({ ipam: { type: "antrea", ...section } });
const names = ipam({ ippools: ["x", "pool"] });
const has = (...addresses: readonly unknown[]): object =>
    ipam({ addresses: addresses.map((address) => ({ address })) });

describe("a network uses a pool", () => {
    it.each<[string, unknown]>([
        ["that it names", { type: "antrea", ...names }],
        ["that another plugin names", { type: "macvlan", ...names }],
        ["that a plugin of a list names", { plugins: [{ type: "bridge" }, { type: "macvlan", ...names }] }],
        ["that it names in a section that is wrong otherwise", { ipam: { type: "antrea", ippools: [7, "pool"] } }],
        ["in whose ranges it has a static address", { type: "antrea", ...has("192.168.0.1/24", "10.1.0.20/16") }],
    ])("%s", async (_name, config) => {
        expect(await users(config)).toEqual(["NetworkAttachmentDefinition default/net1"]);
    });
});

describe("a network uses no pool", () => {
    it.each<[string, unknown]>([
        ["that it does not name", { type: "antrea", ...ipam({ ippools: ["pools"] }) }],
        ["that it names in a section of another type", { type: "antrea", ipam: { type: "static", ippools: ["pool"] } }],
        ["with static addresses elsewhere", has("10.1.0.21/24", "10.1.0.9/24", "fd00::5/64")],
        ["with static addresses that are none", has("ten", 7, null, "10.1.0.15")],
        ["with lists that are none", ipam({ ippools: "pool", addresses: "10.1.0.15/24" })],
        ["without IPAM", { type: "antrea", ipam: null }],
        ["without plugins", { plugins: [null, 7, "antrea"] }],
        ["of a text that is no configuration", "pool antrea"],
        ["without configuration", undefined],
    ])("%s", async (_name, config) => {
        expect(await users(config)).toEqual([]);
    });
});

describe("the networks that use a pool", () => {
    it("are others than those with a static address among some, which need not name it", async () => {
        const fake = new FakeApi();
        fake.put(networkAttachmentDefinitions, networkOf("named", names));
        fake.put(networkAttachmentDefinitions, networkOf("static", has("192.168.0.1/24", "10.1.0.20/16")));
        fake.put(networkAttachmentDefinitions, networkOf("of-list", { plugins: [{}, has("10.1.0.10/24")] }));
        fake.put(networkAttachmentDefinitions, networkOf("elsewhere", has("10.1.0.21/24", "ten")));
        const found = await new NetworkUsers({ api: fake.api }).withAddressIn(pool.addresses, signal);
        expect(found).toEqual(["static", "of-list"].map((name) => `NetworkAttachmentDefinition default/${name}`));
    });

    it("are found on all pages", async () => {
        const fake = new FakeApi();
        for (const name of ["a", "b", "c", "d", "e"]) {
            fake.put(networkAttachmentDefinitions, networkOf(name, name === "b" ? "{}" : names));
        }
        const found = await new NetworkUsers({ api: fake.api }).of(pool, signal);
        expect(found).toEqual(["a", "c", "d", "e"].map((name) => `NetworkAttachmentDefinition default/${name}`));
    });

    function failing(error: Error): Pick<ApiClient, "pages"> {
        return {
            pages: async function* () {
                throw error;
            } as ApiClient["pages"],
        };
    }

    it("are none without their CustomResourceDefinition", async () => {
        const api = failing(new KubeError("NOT_FOUND", "404 page not found"));
        expect(await new NetworkUsers({ api }).of(pool, signal)).toEqual([]);
    });

    it("are unknown while the API server does not answer", async () => {
        const error = new KubeError("UNAVAILABLE", "away");
        await expect(new NetworkUsers({ api: failing(error) }).of(pool, signal)).rejects.toBe(error);
    });
});
