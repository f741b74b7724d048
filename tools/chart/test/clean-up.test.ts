import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";
import { parse } from "yaml";
import { named, render } from "./render.ts";

interface Workload {
    readonly spec: {
        readonly template: {
            readonly spec: {
                readonly nodeSelector?: Readonly<Record<string, string>>;
                readonly dnsPolicy?: string;
                readonly initContainers: readonly {
                    readonly image: string;
                    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
                }[];
                readonly volumes: readonly { readonly name: string; readonly hostPath?: { readonly path: string } }[];
            };
        };
    };
}

it("docs/clean-up.yaml runs the chart's image, on the same Nodes, with all files that the agent writes", async () => {
    const file = new URL("../../../docs/clean-up.yaml", import.meta.url);
    const cleanUp = (parse(readFileSync(file, "utf8")) as Workload).spec.template.spec;
    const agent = (named(await render(), "DaemonSet", "antrea-agent") as unknown as Workload).spec.template.spec;
    expect(cleanUp.initContainers[0]?.image).toBe(agent.initContainers[0]?.image);
    expect([cleanUp.nodeSelector, cleanUp.dnsPolicy]).toEqual([agent.nodeSelector, agent.dnsPolicy]);
    const { volumeMounts = [] } = cleanUp.initContainers[0] ?? {};
    const mounted = cleanUp.volumes.map(({ name, hostPath }) => {
        const at = volumeMounts.find((mount) => mount.name === name)?.mountPath;
        expect([`/host${hostPath?.path}`, hostPath?.path]).toContain(at);
        return hostPath?.path ?? "";
    });
    // read or entered only, or nothing of ours
    const others = ["/var/run/netns", "/proc", "/lib/modules"];
    for (const { hostPath } of agent.volumes) {
        if (hostPath === undefined || others.includes(hostPath.path)) continue;
        expect(mounted.some((path) => path === hostPath.path || hostPath.path.startsWith(`${path}/`))).toBe(true);
    }
});
