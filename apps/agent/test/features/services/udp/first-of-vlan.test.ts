import { expect, it } from "@jest/globals";
import { onFirstOfVlan } from "../../../../src/features/services/udp/first-of-vlan.ts";
import { PodInterfaces, type PodInterface } from "../../../../src/platform/pod-interfaces/index.ts";
import { addressOf, podRecord } from "../../../support/records.ts";

function podIn(vlan: number, number: number, pool?: string): PodInterface {
    const addresses = [{ ...addressOf(`10.20.${vlan}.${number}/24`), pool }];
    const containerId = `${vlan}${number}`.padStart(4, "0").repeat(16);
    return { record: podRecord({ containerId, addresses, vlan }), ofPort: number, addedAt: Infinity };
}

it("a VLAN's first Pod is reported, also after the last one left, and neither others nor those without a VLAN", () => {
    const table = new PodInterfaces();
    let reported = 0;
    const listening = onFirstOfVlan(table, () => (reported += 1));
    const after = (change: () => void): number => {
        reported = 0;
        change();
        return reported;
    };
    const [first, second] = [podIn(2, 7, "pool"), podIn(2, 8, "pool")];
    expect([
        after(() => table.put(first)),
        after(() => table.put({ ...first, addedAt: 5 })),
        after(() => table.put(second)),
        after(() => table.put(podIn(3, 7, "pool"))),
        after(() => table.put(podIn(0, 7, "pool"))),
        after(() => table.put(podIn(0, 8))),
        after(() => table.remove(first.record)),
        after(() => table.remove(second.record)),
        after(() => table.put(second)),
    ]).toEqual([1, 0, 0, 1, 0, 0, 0, 0, 1]);
    table.remove(second.record);
    listening[Symbol.dispose]();
    expect(after(() => table.put(second))).toBe(0);
});
