import { describe, expect, it } from "@jest/globals";
import { nodeTables, Pipeline, podFlows, withCookies } from "@antrea/flows";
import { parseIp } from "@antrea/ip";
import type { Flow } from "@antrea/openflow";
import { missingFlows } from "../../../src/features/pod-network/missing-flows.ts";

const flowsOf = (last: number): readonly Flow[] => {
    const mac = Uint8Array.of(10, 0, 0, 0, 0, last);
    const ips = [parseIp(`10.10.1.${last}`), parseIp(`fd10:10:0:1::${last}`)];
    const gatewayMac = Uint8Array.of(2, 0, 0, 0, 0, 1);
    return withCookies(podFlows(new Pipeline(nodeTables), { ofPort: 32_784 + last, mac, ips, gatewayMac }), 7);
};
const [wanted, others] = [flowsOf(5), [2, 3, 4].flatMap(flowsOf)];

describe("the flows that CHECK misses", () => {
    it("are none when OVS has them, in any order and with any cookie", async () => {
        const present = [...others, ...wanted.toReversed().map((flow) => ({ ...flow, cookie: 1n }))];
        expect(await missingFlows(wanted, present)).toEqual([]);
    });

    it("are those that are not there, or do something else", async () => {
        const [first, second, ...rest] = wanted;
        if (first === undefined || second === undefined) throw new Error("no flows");
        const other: Flow = { ...second, actions: [{ type: "output", port: 9 }] };
        expect(await missingFlows(wanted, [...others, other, ...rest])).toEqual([first, second]);
    });

    it("are all when OVS has only those of others", async () => {
        expect(await missingFlows(wanted, others)).toEqual(wanted);
    });
});
