import { describe, expect, it } from "@jest/globals";
import { AddressIndex } from "../ipam/address-index.ts";
import { leasesIn } from "../ipam/dhcp.ts";
import { addressesOf, refusalOf, type Outcome } from "../ipam/harness.ts";
import { burst, churn, deleteAll, exhaust, type Containers } from "../ipam/scenarios.ts";
import { seededRandom } from "../statistics.ts";

describe("AddressIndex", () => {
    it("finds an address that is given to a second container while the first has it", () => {
        const addresses = new AddressIndex();
        addresses.given(1, ["10.0.0.2/24"]);
        addresses.given(2, ["10.0.0.3/24"]);
        addresses.given(3, ["10.0.0.2/16"]);
        expect(addresses.duplicates).toEqual(["10.0.0.2"]);
    });

    it("takes no harm from an address that is given again after the end of its container", () => {
        const addresses = new AddressIndex();
        addresses.given(1, ["10.0.0.2", "fd00::2"]);
        addresses.ended(1);
        addresses.given(2, ["10.0.0.2", "fd00::2"]);
        expect(addresses.duplicates).toEqual([]);
        expect(addresses.size).toBe(2);
    });

    it("accepts a container that gets its own address again", () => {
        const addresses = new AddressIndex();
        addresses.given(1, ["10.0.0.2"]);
        addresses.given(1, ["10.0.0.2"]);
        expect(addresses.duplicates).toEqual([]);
    });
});

describe("answers of plugins", () => {
    it("are addresses", () => {
        expect(addressesOf('{"ips":[{"address":"10.0.0.2/24"},{"address":"fd00::2/64"}]}')).toEqual([
            "10.0.0.2/24",
            "fd00::2/64",
        ]);
    });

    it("fail where there is none", () => {
        expect(() => addressesOf('{"ips":[]}')).toThrow("has no address");
    });

    it.each([
        ["an error object", '{"cniVersion":"1.1.0","code":7,"msg":"full"}', { code: 7, msg: "full" }],
        ["something else", "panic: no", { code: 0, msg: "panic: no" }],
    ])("are refusals: %s", (_, output, expected) => {
        expect(refusalOf(output)).toEqual(expected);
    });
});

describe("leasesIn", () => {
    it("counts the leases that have not run out", () => {
        const text = "1000 02:00:00:00:00:01 10.82.0.2 * ff:01\n2000 02:00:00:00:00:02 10.82.0.3 * ff:02\n";
        expect([leasesIn(text, 999), leasesIn(text, 1_500), leasesIn(text, 2_000), leasesIn("", 0)]).toEqual([
            2, 1, 0, 0,
        ]);
    });
});

/** A plugin with a pool of so many addresses, which keeps some of those that are given back. */
class FakeContainers implements Containers {
    readonly subject = { id: "fake", capacity: 20 };
    readonly #size: number;
    readonly #keeps: number;
    readonly #live = new Set<number>();
    #lost = 0;
    #next = 0;
    mostAtOnce = 0;

    constructor(size: number, keeps = 0) {
        this.#size = size;
        this.#keeps = keeps;
    }

    get live(): readonly number[] {
        return [...this.#live];
    }

    async add(): Promise<Outcome> {
        const container = this.#next++;
        if (this.#live.size + this.#lost >= this.#size)
            return { kind: "refused", ms: 1, refusal: { code: 11, msg: "full" } };
        this.#live.add(container);
        this.mostAtOnce = Math.max(this.mostAtOnce, this.#live.size);
        await Promise.resolve();
        return { kind: "given", container, ms: 1, addresses: [`10.0.0.${container}`] };
    }

    async delete(container: number): Promise<number> {
        expect(this.#live.delete(container)).toBe(true);
        if (this.#lost < this.#keeps) this.#lost += 1;
        return 1;
    }
}

describe("scenarios", () => {
    it("burst: each ADD has its DEL, and what is refused is not counted", async () => {
        const containers = new FakeContainers(7);
        const { adds, dels } = await burst(containers, 10);
        expect([adds.length, dels.length, containers.live.length]).toEqual([7, 7, 0]);
    });

    it("churn: at most so many live, none is left at the end", async () => {
        const containers = new FakeContainers(20);
        const adds = await churn(containers, { calls: 200, width: 4, most: 6, random: seededRandom(3) });
        expect(adds.length).toBeGreaterThan(50);
        expect(containers.mostAtOnce).toBe(6);
        expect(containers.live).toEqual([]);
    });

    it.each([20, 13, 1])("exhaust: of %d addresses all are given before the refusal", async (size) => {
        const containers = new FakeContainers(size);
        const { adds, refusal } = await exhaust(containers, 4);
        expect(adds).toHaveLength(size);
        expect(refusal).toEqual({ code: 11, msg: "full" });
        expect(containers.live).toHaveLength(size);
    });

    it("exhaust: a pool that keeps addresses gives fewer the second time", async () => {
        const containers = new FakeContainers(20, 3);
        await exhaust(containers, 4);
        await deleteAll(containers, 4);
        expect((await exhaust(containers, 4)).adds).toHaveLength(17);
    });

    it("exhaust: a pool that gives more than it has is no pool", async () => {
        await expect(exhaust(new FakeContainers(50), 4)).rejects.toThrow("more than 20 addresses");
    });
});
