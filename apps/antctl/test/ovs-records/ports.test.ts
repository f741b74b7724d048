import { describe, expect, it } from "@jest/globals";
import { formatIp } from "@antrea/ip";
import { OvsOutputError, readPorts } from "../../src/ovs-records/ports.ts";

const ids = (...pairs: readonly (readonly [string, string])[]): unknown => ["map", pairs];
const print = (...rows: readonly (readonly unknown[])[]): string =>
    JSON.stringify({ data: rows, headings: ["name", "external_ids"] });
const record = [
    ["antrea-type", "container"],
    ["container-id", "c1"],
    ["if-dev", "eth0"],
    ["pod-namespace", "shop"],
    ["pod-name", "web-0"],
    ["pod-uid", "u1"],
    ["ip-address", "10.2.0.12,fd00:2::5"],
    ["ip-pool", "web,web6"],
] as const;

describe("readPorts", () => {
    it("reads the records of Pods and leaves other ports out", () => {
        const [port, ...more] = readPorts(
            print(
                ["br-int", ids()],
                ["antrea-gw0", ids(["antrea-type", "gateway"], ["ip-address", "10.10.1.1"])],
                ["web-0-abc", ids(...record)],
                ["unfinished", ids(...record.slice(0, 6))],
            ),
        );
        expect(more).toEqual([]);
        expect(port).toMatchObject({
            port: "web-0-abc",
            containerId: "c1",
            ifName: "eth0",
            podNamespace: "shop",
            podName: "web-0",
            podUid: "u1",
        });
        expect(port?.addresses.map(({ ip, pool }) => `${formatIp(ip)} ${pool}`)).toEqual([
            "10.2.0.12 web",
            "fd00:2::5 web6",
        ]);
    });

    it("distinguishes addresses of the Node's subnets from those of pools that are not known", () => {
        const without = record.filter(([key]) => key !== "ip-pool");
        const of = (rows: string): (string | undefined)[] =>
            (readPorts(rows)[0]?.addresses ?? []).map(({ pool }) => pool);
        expect(of(print(["p", ids(...without)]))).toEqual([undefined, undefined]);
        expect(of(print(["p", ids(...without, ["ip-pool", ",web6"])]))).toEqual(["", "web6"]);
        expect(of(print(["p", ids(...without, ["ip-pool", "web"])]))).toEqual(["web", ""]);
    });

    it("reads virtual functions, which the record of eth0 has", () => {
        const shared = { "antrea-type": "container", "container-id": "c1", "if-dev": "eth1", "pod-name": "web-0" };
        const own = { "secondary-network": "shop/sriov", "ip-address": "10.7.0.5", "ip-pool": "web" };
        const functions = JSON.stringify([{ ...shared, ...own }, null, { ...shared, ...own, "ip-pool": "-" }]);
        const rows = print(["web-0-abc", ids(...record, ["virtual-functions", functions])]);
        const [eth0, eth1, ...more] = readPorts(rows);
        expect([eth0?.ifName, more]).toEqual(["eth0", []]);
        expect(eth1).toMatchObject({ ifName: "eth1", containerId: "c1", podName: "web-0", network: "shop/sriov" });
        expect(eth1?.addresses.map(({ ip, pool }) => `${formatIp(ip)} ${pool}`)).toEqual(["10.7.0.5 web"]);
        expect(readPorts(print(["p", ids(...record, ["virtual-functions", "{"])]))).toHaveLength(1);
    });

    it("reads interfaces on other networks, without the static addresses that nobody allocates", () => {
        const onNetwork = (pools: string): unknown[] => [
            "web-0-net",
            ids(...record.slice(0, 7), ["secondary-network", "shop/vlan100"], ["ip-pool", pools]),
        ];
        const [port] = readPorts(print(onNetwork("-,web6")));
        expect(port).toMatchObject({ port: "web-0-net", network: "shop/vlan100" });
        expect(port?.addresses.map(({ ip, pool }) => `${formatIp(ip)} ${pool}`)).toEqual(["fd00:2::5 web6"]);
        expect(readPorts(print(onNetwork("-,-")))).toEqual([]);
    });

    it("leaves out addresses that cannot be read, and fills in what older agents did not write", () => {
        const [port] = readPorts(print(["p", ids(["antrea-type", "container"], ["ip-address", "x, 10.2.0.13"])]));
        expect(port).toMatchObject({ ifName: "eth0", podUid: "", containerId: "" });
        expect(port?.addresses.map(({ ip }) => formatIp(ip))).toEqual(["10.2.0.13"]);
    });

    it.each([
        ["no JSON", "ovs-vsctl: no connection"],
        ["null", "null"],
        ["no table", '{"headings":[]}'],
        ["other columns", '{"headings":["name"],"data":[]}'],
        ["a cell that is no map", '{"headings":["name","external_ids"],"data":[["p",["set",[]]]]}'],
        ["a row that is no list", '{"headings":["name","external_ids"],"data":[5]}'],
    ])("refuses %s", (_name, text) => {
        expect(() => readPorts(text)).toThrow(OvsOutputError);
    });
});
