import { crc32 } from "node:zlib";
import { formatLine, parseLine, type JournalEntry } from "@antrea/agent/features/services/journal/line";
import { LineSplitter } from "@antrea/agent/features/services/journal/line-splitter";
import { ServiceIndex } from "@antrea/services";
import { chunks, json } from "../fixture.ts";
import { mustEqual, type Target } from "../target.ts";

const service = {
    metadata: {
        name: "web",
        namespace: "default",
        uid: "u",
        creationTimestamp: "2026-01-01T00:00:00Z",
        labels: { "service.kubernetes.io/service-proxy-name": "" },
        annotations: { "service.antrea.io/load-balancer-mode": "dsr" },
    },
    spec: {
        type: "LoadBalancer",
        clusterIPs: ["10.96.0.1", "fd00::1"],
        externalIPs: ["203.0.113.1"],
        ports: [{ name: "http", protocol: "TCP", port: 80, nodePort: 30080 }],
        internalTrafficPolicy: "Local",
        externalTrafficPolicy: "Local",
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } },
        loadBalancerSourceRanges: ["10.0.0.0/8"],
        healthCheckNodePort: 31000,
    },
    status: { loadBalancer: { ingress: [{ ip: "198.51.100.1", ipMode: "VIP" }] } },
};
const slice = {
    name: "web-1",
    addressType: "IPv4",
    endpoints: [
        { addresses: ["10.10.0.1"], nodeName: "here" },
        { addresses: ["10.10.0.2"], conditions: { ready: false, serving: true, terminating: true } },
        { addresses: ["10.10.0.3"], hints: { forZones: [{ name: "z" }], forNodes: [{ name: "here" }] } },
    ],
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
};

/** The journal of Services: as a file, and as the content of a line with the right checksum, which a change rarely has. */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    bytesPerByte: 16_384,
    seeds: () => [
        json({ service, slices: [slice] }),
        json({
            service: { ...service, spec: { ...service.spec, type: "ClusterIP", clusterIPs: ["None"] } },
            slices: [],
        }),
        json({
            service: { metadata: { name: "web", namespace: "default" }, spec: { clusterIP: "10.96.0.1" } },
            slices: [],
        }),
        json({ gone: "default/web" }),
        json({ serviceCidrs: ["10.96.0.0/16", "fd00:96::/112"] }),
        `${lineWith(Buffer.from(json({ gone: "default/web" }))).toString()}\n2 00000000 {}\n`,
    ],
    tokens: ["gone", "serviceCidrs", "clusterIP", "None", "IPv6", "FQDN", "1 ", "\n"],
    run: (input) => {
        const lines = linesOf([Buffer.from(input)]);
        mustEqual("lines of parts", linesOf(Array.from(chunks(input), (part) => Buffer.from(part))), lines);
        for (const line of [...lines, lineWith(input)]) {
            const entry = parseLine(line);
            if (typeof entry !== "string") checkEntry(entry);
        }
    },
    isRefusal: () => false,
};

function linesOf(parts: readonly Buffer[]): readonly Buffer[] {
    const splitter = new LineSplitter({ maxBytes: 1_000 });
    const lines = parts.flatMap((part) => Array.from(splitter.push(part), (line) => Buffer.from(line)));
    return [...lines, splitter.end() ?? []].flat();
}

function lineWith(content: Uint8Array): Buffer {
    return Buffer.concat([Buffer.from(`1 ${crc32(content).toString(16).padStart(8, "0")} `), content]);
}

/** It can be written again, and served. */
function checkEntry(entry: JournalEntry): void {
    const text = formatLine(entry)?.text ?? "";
    const again = parseLine(Buffer.from(text.slice(0, -1)));
    mustEqual("a line read and written", typeof again === "string" ? again : formatLine(again)?.text, text);
    if (!("known" in entry) || entry.known === undefined) return;
    const index = new ServiceIndex({
        nodeName: "here",
        families: [4, 6],
        proxyAll: true,
        proxyLoadBalancerIps: true,
        serviceProxyName: "",
        skipServices: ["default/skipped"],
        defaultLoadBalancerMode: "nat",
        dsr: true,
        nodeHints: true,
        sctp: true,
    });
    index.setService(entry.known.service);
    for (const one of entry.known.slices) index.setSlice(one);
    for (const key of index.keys) index.served(key);
}
