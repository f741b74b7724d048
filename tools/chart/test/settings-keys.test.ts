import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { loadAgentConfig, loadControllerConfig } from "@antrea/settings";
import { settingsKeys } from "@antrea/settings/testing";

const root = new URL("../../../", import.meta.url).pathname;

/** Reads what programs need of several keys. */
const shared = join(root, "libs/settings/src/agent/services.ts");

/** The sources of a program. */
function sourcesOf(component: string): string {
    const folder = join(root, "apps", component, "src");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
    return [shared, ...files.map((name) => join(folder, name))].map((path) => readFileSync(path, "utf8")).join("\n");
}

/** Any other value than the default: refused by the rules, so they have an effect. */
const refused: Readonly<Record<string, unknown>> = {
    nodeType: "externalNode",
    trafficEncryptionMode: "wireGuard",
    "antreaProxy.disableServiceHealthCheckServer": true,
};

/** A value that is taken and is not the default, for keys of which nothing can be guessed from that. */
const others: Readonly<Record<string, unknown>> = {
    podCIDRs: "10.0.0.0/8",
    dnsServerOverride: "10.0.0.1",
    hostNetworkMode: "nftables",
    "nodePortLocal.portRange": "1-2",
    "egress.exceptCIDRs": ["10.0.0.0/8"],
    "ipsec.authenticationMode": "cert",
    "multicluster.trafficEncryptionMode": "wireGuard",
    "externalNode.policyBypassRules": [{ direction: "ingress", protocol: "icmp", cidr: "1.0.0.0/8" }],
};

describe.each(["agent", "controller"] as const)("each key of antrea-%s.conf", (component) => {
    const keys = settingsKeys(component);
    const sources = sourcesOf(component);
    const load = component === "agent" ? loadAgentConfig : loadControllerConfig;

    it.each(keys.filter(([key, unserved]) => unserved === undefined && !(key in refused)).map(([key]) => key))(
        "is read: %s",
        (key) => {
            if (key === "featureGates") return;
            expect(sources).toMatch(new RegExp(`\\b${key.split(".").at(-1)}\\b`));
        },
    );

    it.each(keys.filter(([, unserved]) => unserved !== undefined).map(([key]) => key))(
        "is warned about when it is not read: %s",
        (key) => {
            const candidates =
                key in others ? [others[key]] : [true, false, "1m5s", 7, 70, "x:1:tcp", "some", ["x"], [1]];
            const reported = candidates.flatMap((value) => {
                const file = key.split(".").reduceRight<unknown>((inner, step) => ({ [step]: inner }), value);
                const more = key === "multicluster.enableStretchedNetworkPolicy" ? { enableGateway: true } : {};
                const { multicluster } = file as { readonly multicluster?: object };
                try {
                    return load(
                        JSON.stringify({
                            ...(file as object),
                            ...(multicluster && { multicluster: { ...multicluster, ...more } }),
                        }),
                    ).warnings;
                } catch {
                    return [];
                }
            });
            expect(reported.filter((line) => line.startsWith(`${key} has no effect: `))).not.toEqual([]);
        },
    );

    it("reports nothing of an empty file", () => {
        expect(load("").warnings).toEqual([]);
    });
});

it.each(Object.entries(refused))("antrea-agent.conf: %s %s is refused", (key, value) => {
    const file = key.split(".").reduceRight((inner, step) => ({ [step]: inner }), value);
    expect(() => loadAgentConfig(JSON.stringify(file))).toThrow(key);
});
