import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { parse } from "yaml";
import { render } from "@antrea/chart/testing/render";
import { securityPage, tableUnder } from "../document-table.ts";
import { root } from "../programs.ts";

interface Container {
    readonly name: string;
    readonly securityContext?: {
        readonly privileged?: boolean;
        readonly runAsUser?: number;
        readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
    };
}

/** What the document says of a container. */
function privileges({ securityContext = {} }: Container): string {
    const { privileged, capabilities: { add = [], drop = [] } = {} } = securityContext;
    if (privileged === true) return "privileged";
    return add.length > 0 ? add.join(", ") : drop.includes("ALL") ? "none" : "those of the runtime";
}

const values = (...all: readonly string[]): readonly string[] => all.flatMap((value) => ["--set", value]);

describe("docs/security.md", () => {
    it("has every container, its user and its privileges", async () => {
        const found = new Map<string, { readonly user: string; readonly ways: Set<string> }>();
        const ipam = "featureGates.AntreaIPAM=true";
        const bridging = values(ipam, "enableBridgingMode=true", "noSNAT=true", "trafficEncapMode=noEncap");
        for (const way of [values("ovs.datapathType=netdev", ipam), values(), bridging]) {
            for (const { spec } of await render(...way)) {
                const pod = (spec?.template as { readonly spec?: Record<string, readonly Container[]> } | undefined)
                    ?.spec;
                for (const container of [...(pod?.["initContainers"] ?? []), ...(pod?.["containers"] ?? [])]) {
                    const user = String(container.securityContext?.runAsUser ?? "root");
                    const entry = found.get(container.name) ?? { user, ways: new Set() };
                    entry.ways.add(privileges(container));
                    found.set(container.name, entry);
                }
            }
        }
        const last = (way: string): number => (way === "privileged" ? 1 : 0);
        const expected = [...found].map(([name, { user, ways }]) => [
            name,
            user,
            [...ways].sort((a, b) => last(a) - last(b)).join("; or "),
        ]);
        const rows = tableUnder("Containers");
        expect(rows.map((row) => row.slice(0, 3)).sort()).toEqual(expected.sort());
        expect(rows.filter(([, , , why = ""]) => why.length < 10)).toEqual([]);
    });

    it("has the ports of the programs", () => {
        const chart = parse(readFileSync(join(root, "charts/antrea/values.yaml"), "utf8")) as {
            readonly [app: string]: {
                readonly apiPort?: number;
                readonly port?: number;
                readonly probePort?: number;
            };
        };
        const [[ports = ""] = []] = tableUnder("Ports and sockets");
        expect(ports).toContain(`agent ${chart["agent"]?.apiPort}`);
        expect(ports).toContain(`controller ${chart["controller"]?.apiPort}`);
        expect(ports).toContain(`webhook ${chart["webhook"]?.port}`);
        const probes = ["agent", "webhook"].map((app) => `${app} ${chart[app]?.probePort}`).join(", ");
        expect(tableUnder("Ports and sockets").flat().join()).toContain(`${probes}, on 127.0.0.1`);
    });

    it("names files and policies that are there", async () => {
        for (const [, name = ""] of securityPage.matchAll(/`(tools\/[\w/.-]+)`/g)) {
            expect(readFileSync(join(root, name), "utf8").length).toBeGreaterThan(0);
        }
        const manifests = await render(...values("featureGates.AntreaIPAM=true"));
        const policies = manifests
            .filter(({ kind }) => kind === "ValidatingAdmissionPolicy")
            .map(({ metadata }) => metadata.name);
        for (const name of [
            "antrea-agent-ipallocations",
            "antrea-agent-nodes",
            "antrea-controller-nodes",
            "antrea-network-policies",
            "antrea-own-objects",
        ]) {
            expect(policies).toContain(name);
            expect(securityPage).toContain(`\`${name}\``);
        }
    });
});
