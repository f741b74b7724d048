import { describe, expect, it } from "@jest/globals";
import { named, render, type Manifest } from "./render.ts";

interface Probe {
    readonly httpGet?: { readonly host?: string; readonly port: number | string; readonly scheme?: string };
}

interface PodSpec {
    readonly dnsPolicy?: string;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly containers: readonly {
        readonly env?: readonly { readonly name: string; readonly value?: string }[];
        readonly ports?: readonly { readonly containerPort: number }[];
        readonly livenessProbe?: Probe;
        readonly readinessProbe?: Probe;
    }[];
}

const programs = [
    ["DaemonSet", "antrea-agent", 10_353],
    ["Deployment", "antrea-controller", 10_354],
    ["Deployment", "antrea-webhook", 10_355],
] as const;

async function podSpec(kind: string, name: string): Promise<PodSpec> {
    const manifest: Manifest = named(await render("--set", "featureGates.AntreaIPAM=true"), kind, name);
    return (manifest.spec?.["template"] as { readonly spec: PodSpec }).spec;
}

describe.each(programs)("the Pods of %s %s", (kind, name, probePort) => {
    it("are probed on a port of 127.0.0.1 that the program serves and nobody else can use up", async () => {
        const [main] = (await podSpec(kind, name)).containers;
        const probe = { host: "127.0.0.1", port: probePort };
        expect(main?.livenessProbe?.httpGet).toEqual({ ...probe, path: "/livez" });
        expect(main?.readinessProbe?.httpGet).toEqual({ ...probe, path: "/readyz" });
        expect(main?.env).toContainEqual({ name: "PROBE_PORT", value: String(probePort) });
        expect((main?.ports ?? []).map(({ containerPort }) => containerPort)).not.toContain(probePort);
    });

    it("ask the DNS of their Node, not that of the cluster, which needs the network that they make", async () => {
        expect((await podSpec(kind, name)).dnsPolicy).toBe("Default");
    });

    it("run only on Nodes of the architecture that the images are for", async () => {
        expect((await podSpec(kind, name)).nodeSelector).toEqual({
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        });
    });
});
