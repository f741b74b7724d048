import { describe, expect, it } from "@jest/globals";
import { crc32 } from "node:zlib";
import { parsePrefix } from "@antrea/ip";
import { slimService, slimSlice, type ServiceObjects } from "@antrea/services";
import {
    formatLine,
    maxLineBytes,
    parseLine,
    type JournalEntry,
} from "../../../../src/features/services/journal/line.ts";
import { servedOf, service, slice } from "./journal-examples.ts";

const full: ServiceObjects = {
    service: slimService({
        ...service("web", "10.96.0.1", {
            type: "LoadBalancer",
            clusterIPs: ["10.96.0.1", "fd00::1"],
            externalIPs: ["203.0.113.1"],
            ports: [
                { name: "http", protocol: "TCP", port: 80, nodePort: 30080, appProtocol: "h2c" },
                { name: "dns", protocol: "UDP", port: 53 },
            ],
            internalTrafficPolicy: "Cluster",
            externalTrafficPolicy: "Local",
            sessionAffinity: "ClientIP",
            sessionAffinityConfig: { clientIP: { timeoutSeconds: 7 } },
            loadBalancerSourceRanges: ["192.0.2.0/24"],
            healthCheckNodePort: 31000,
        }),
        status: { loadBalancer: { ingress: [{ ip: "198.51.100.1", ipMode: "VIP" }] } },
    }),
    slices: [
        slimSlice({
            ...slice("web", []),
            endpoints: [
                { addresses: ["10.10.0.1"], conditions: { ready: true }, nodeName: "here" },
                { addresses: ["10.10.0.2"], conditions: { ready: false, serving: true, terminating: true } },
                { addresses: ["10.10.0.3"], hints: { forZones: [{ name: "z" }], forNodes: [{ name: "here" }] } },
            ],
            ports: [{ name: "http", protocol: "TCP", port: 8080 }],
        }),
        slimSlice({ ...slice("web", [], "web-2"), addressType: "IPv6", endpoints: [{ addresses: ["fd00:10::1"] }] }),
    ],
};

function lineOf(entry: JournalEntry): string {
    return formatLine(entry)?.text ?? "none";
}

function read(text: string): ReturnType<typeof parseLine> {
    return parseLine(Buffer.from(text));
}

/** A line whose checksum fits. */
function lineWith(content: unknown): string {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    return `1 ${crc32(text).toString(16).padStart(8, "0")} ${text}`;
}

describe("a line of the journal", () => {
    it("has all that decides what is served of a Service", () => {
        const entry = read(lineOf({ key: "default/web", known: full }).trimEnd());
        if (typeof entry === "string" || !("known" in entry) || entry.known === undefined)
            throw new TypeError(`it is ${String(entry)}`);
        expect(entry.key).toBe("default/web");
        expect(servedOf([entry.known])).toEqual(servedOf([full]));
        expect(Object.keys(servedOf([full]))).toEqual(["default/web"]);
    });

    it("has a Service without endpoints, and one that is gone", () => {
        const known = { service: slimService(service("web")), slices: [] };
        expect(read(lineOf({ key: "default/web", known }).trimEnd())).toMatchObject({ known: { slices: [] } });
        const gone = { key: "default/gone", known: undefined };
        expect(read(lineOf(gone).trimEnd())).toEqual(gone);
    });

    it("has the Service CIDRs of the cluster, which may be none", () => {
        for (const serviceCidrs of [["10.96.0.0/16", "fd00:96::/112"].map((text) => parsePrefix(text)), []])
            expect(read(lineOf({ serviceCidrs }).trimEnd())).toEqual({ serviceCidrs });
    });

    it("is the same whatever version and trigger the objects have, and another one with other endpoints", () => {
        const [one = full.slices[0]] = [slimSlice(slice("web", ["10.10.0.1"]))];
        const known = { service: full.service, slices: one === undefined ? [] : [one] };
        const later = {
            service: { ...known.service, metadata: { ...known.service.metadata, resourceVersion: "99" } },
            slices: known.slices.map((each) => ({
                ...each,
                metadata: { ...each.metadata, resourceVersion: "99", annotations: {} },
            })),
        };
        const key = "default/web";
        expect(formatLine({ key, known: later })).toEqual(formatLine({ key, known }));
        const other = { ...known, slices: [slimSlice(slice("web", ["10.10.0.2"]))] };
        expect(formatLine({ key, known: other })?.checksum).not.toBe(formatLine({ key, known })?.checksum);
    });

    it("is none if it would be too long to be read", () => {
        const name = "x".repeat(200);
        const endpoints = Array.from({ length: maxLineBytes / 200 }, () => ({
            addresses: ["10.0.0.1"],
            nodeName: name,
        }));
        const known = { service: full.service, slices: [{ ...slice("web", []), endpoints }] };
        expect(formatLine({ key: "default/web", known })).toBe(undefined);
    });

    it("of another version is another thing than a damaged one", () => {
        const line = lineOf({ key: "default/web", known: full }).trimEnd();
        expect(read(`2${line.slice(1)}`)).toBe("other version");
        expect(read(`1 00000000 ${line.slice(11)}`)).toBe("damaged");
        for (const text of ["", "1", "1 ", "1 00000000", "1 00000000 ", line.slice(0, -1), line.slice(1)])
            expect([text, read(text)]).toEqual([text, "damaged"]);
    });

    const stored = JSON.parse(lineOf({ key: "default/web", known: full }).slice(11)) as {
        readonly service: { readonly metadata: object; readonly spec: object };
        readonly slices: readonly object[];
    };
    const { service: whole, slices } = stored;
    it("that fits its checksum is read", () => {
        expect(typeof read(lineWith(stored))).toBe("object");
    });
    it.each<[string, unknown]>([
        ["no JSON", "{"],
        ["a list", []],
        ["null", null],
        ["a number for a name", { gone: 7 }],
        ["a Service CIDR that is none", { serviceCidrs: ["10.96.0.0/16", "10.96.0.0/33"] }],
        ["a number for a Service CIDR", { serviceCidrs: [7] }],
        ["no slices", { service: whole }],
        ["no name", { service: { ...whole, metadata: { namespace: "default" } }, slices }],
        ["a name of two parts", { service: { ...whole, metadata: { ...whole.metadata, name: "a/b" } }, slices }],
        ["a spec that is a list", { service: { ...whole, spec: [] }, slices }],
        ["an unknown field", { service: { ...whole, spec: { ...whole.spec, more: 1 } }, slices }],
        ["a field of every object", `{"service":{"metadata":{"name":"a","namespace":"b"},"__proto__":{}},"slices":[]}`],
        ["a port that is no number", { service: { ...whole, spec: { ports: [{ port: "80" }] } }, slices }],
        [
            "a port without end",
            `{"service":{"metadata":{"name":"a","namespace":"b"},"spec":{"ports":[{"port":1e999}]}},"slices":[]}`,
        ],
        ["an address that is no text", { service: { ...whole, spec: { clusterIPs: [1] } }, slices }],
        ["a slice that is null", { service: whole, slices: [null] }],
        ["an endpoint without addresses", { service: whole, slices: [{ ...slices[0], endpoints: [{}] }] }],
        [
            "a hint that is a text",
            { service: whole, slices: [{ ...slices[0], endpoints: [{ addresses: [], hints: { forZones: ["z"] } }] }] },
        ],
    ])("with the right checksum and %s is damaged", (_, content) => {
        expect(read(lineWith(content))).toBe("damaged");
    });
});
