import { macAnnotation, podIpsAnnotation, poolsAnnotation, transportAnnotation } from "@antrea/crd";
import { AntreaError } from "@antrea/errors";
import { formatIp, parseIp, sameIp } from "@antrea/ip";
import { checkNamespace, namesPool, poolsOf, readPodIps, readPoolNames, statefulSetOf } from "@antrea/ipam";
import { bridgedMacOf, internalIpsOf, podPrefixesOf, transportIpsOf } from "@antrea/agent/platform/node/node-object";
import { BrokenProperty, type Target } from "../target.ts";

const names = [poolsAnnotation, podIpsAnnotation, transportAnnotation, macAnnotation] as const;

/** Annotations of Pods, Namespaces and Nodes, one value per line; the last line is a podCIDR. */
export const target: Target = {
    format: "text",
    seeds: () => [
        [
            "pool-a, pool-b",
            "10.1.0.5,fd00::5",
            "192.0.2.7,2001:db8::7",
            "0a:1b:2c:3d:4e:5f",
            "10.10.0.0/24,fd00:10::/64",
        ].join("\n"),
        ["pool-a", "10.1.0.5", "192.0.2.7", "ff:ff:ff:ff:ff:ff", "10.10.0.0/30"].join("\n"),
        [",,pool-a,pool-a,", " ::ffff:10.0.0.1 ", "0.0.0.0,224.0.0.1", "00:00:00:00:00:00", "10.10.0.1/31"].join("\n"),
        // The maximum size of annotations: no algorithm may take quadratic time.
        `${Array.from({ length: 50_000 }, (_, at) => at.toString(36)).join()}\n${"1,".repeat(100_000)}`,
    ],
    tokens: ["::ffff:", "fe80::1%eth0", "0x0a", "010.0.0.1", "/0", "/33", "/129", "pool-a", "255.255.255.255"],
    run: (input) => {
        const lines = new TextDecoder().decode(input).split("\n");
        const annotations = Object.fromEntries(names.map((name, at) => [name, lines[at] ?? ""]));
        const { names: pools } = readPoolNames(lines[0] ?? "");
        if (new Set(pools).size !== pools.length || pools.some((name) => name.trim() !== name || name === "")) {
            throw new BrokenProperty(`names of pools: ${JSON.stringify(pools)}`);
        }
        const { ips } = readPodIps(lines[1] ?? "");
        for (const ip of ips)
            if (!sameIp(parseIp(formatIp(ip)), ip)) throw new BrokenProperty(`address ${formatIp(ip)}`);
        poolsOf(annotations, { [poolsAnnotation]: lines[4] ?? "" });
        namesPool(annotations, "pool-a");
        const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "1", controller: true };
        statefulSetOf({ name: `web-${lines[0] ?? ""}`, ownerReferences: [owner] });
        const context = { pool: () => undefined, exclusions: { reason: () => undefined } };
        checkNamespace({ old: { [poolsAnnotation]: "a" }, annotations }, context, ["Pod a/b"]);
        const addresses = lines.map((address) => ({ type: "InternalIP", address }));
        const node = { metadata: { name: "n", annotations }, status: { addresses } };
        internalIpsOf(node);
        transportIpsOf(node);
        const { mac } = bridgedMacOf(node);
        if (mac !== undefined && mac.length !== 6) throw new BrokenProperty(`a MAC address of ${mac.length} bytes`);
        podPrefixesOf({ ...node, spec: { podCIDRs: (lines[4] ?? "").split(",") } });
    },
    isRefusal: (error) => error instanceof AntreaError && error.fault !== "internal",
};
