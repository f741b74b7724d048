import { describe, expect, it } from "@jest/globals";
import { PortIdTable } from "../../../src/features/services/port-ids.ts";
import { portAt, serviceWith } from "./examples.ts";

const http = portAt("10.96.0.1", [], { name: "http" });
const https = portAt("10.96.0.1", [], { name: "https", port: 443 });
const http6 = portAt("fd00::1", [], { name: "http" });
const service = serviceWith([http, https, http6]);

describe("ids of the ports of Services", () => {
    it("differ between ports, names, families and UIDs, and stay", () => {
        const table = new PortIdTable();
        const ids = service.ports.map((port) => table.idsOf(service, port));
        expect(new Set(ids.map(({ number }) => number)).size).toBe(3);
        expect(ids.map(({ groupIds }) => groupIds)).toEqual([
            { cluster: 0, local: 1 },
            { cluster: 2, local: 3 },
            { cluster: 4, local: 5 },
        ]);
        expect(service.ports.map((port) => table.idsOf(service, port))).toEqual(ids);
        const other = { ...service, key: "default/other", uid: "uid-other" };
        expect(ids.map(({ number }) => number)).not.toContain(table.idsOf(other, http).number);
    });

    it("are the same after a restart, whatever was asked first", () => {
        const [one, other] = [new PortIdTable(), new PortIdTable()];
        const numbers = service.ports.map((port) => one.idsOf(service, port).number);
        expect(service.ports.toReversed().map((port) => other.idsOf(service, port).number)).toEqual(numbers.reverse());
    });

    it("are free when the port is gone, groups too", () => {
        const table = new PortIdTable();
        const [first] = service.ports.map((port) => table.idsOf(service, port));
        table.keepOnly(service.key, serviceWith([https]));
        expect(table.idsOf(service, http6).groupIds).toEqual({ cluster: 0, local: 1 });
        expect(table.idsOf(service, http).number).toBe(first?.number);
        table.keepOnly(service.key, undefined);
        expect(table.idsOf(service, https).groupIds.cluster).toBe(0);
    });

    it("of thousands of ports of one Service take no time that grows with their square", () => {
        const table = new PortIdTable();
        const many = serviceWith(
            Array.from({ length: 30_000 }, (_, at) => portAt("10.96.0.1", [], { name: `p${at}`, port: 1 + at })),
        );
        const ids = many.ports.map((port) => table.idsOf(many, port));
        expect(new Set(ids.map(({ groupIds }) => groupIds.cluster)).size).toBe(30_000);
        expect(Math.max(...ids.map(({ groupIds }) => groupIds.local))).toBe(59_999);
        table.keepOnly(many.key, { ...many, ports: many.ports.filter((_, at) => at % 2 === 0) });
        expect(
            many.ports.filter((_, at) => at % 2 === 1).map((port) => table.idsOf(many, port).groupIds.cluster),
        ).toEqual(Array.from({ length: 15_000 }, (_, at) => 2 * (2 * at + 1)));
    });

    it("of a Service that was made anew are new ones", () => {
        const table = new PortIdTable();
        const before = table.idsOf(service, http);
        const after = table.idsOf({ ...service, uid: "uid-2" }, http);
        expect(after.number).not.toBe(before.number);
        expect(after.groupIds.cluster).not.toBe(before.groupIds.cluster);
        table.keepOnly(service.key, serviceWith([http], { uid: "uid-2" }));
        expect(table.idsOf({ ...service, uid: "uid-2" }, http)).toEqual(after);
    });
});
