import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { named, render, type Manifest } from "./render.ts";

interface Probe {
    readonly exec?: { readonly command: readonly string[] };
    readonly httpGet?: { readonly host?: string; readonly port: number | string; readonly scheme?: string };
}

interface PodSpec {
    readonly dnsPolicy?: string;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly volumes?: readonly { readonly name: string; readonly emptyDir?: unknown }[];
    readonly containers: readonly {
        readonly name: string;
        readonly command?: readonly string[];
        readonly lifecycle?: { readonly preStop?: { readonly exec?: { readonly command: readonly string[] } } };
        readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
        readonly env?: readonly { readonly name: string; readonly value?: string }[];
        readonly ports?: readonly { readonly containerPort: number }[];
        readonly livenessProbe?: Probe;
        readonly readinessProbe?: Probe;
    }[];
}

const probedByPort = [
    ["DaemonSet", "antrea-agent", 10_353],
    ["Deployment", "antrea-webhook", 10_355],
] as const;

const programs = [
    ["DaemonSet", "antrea-agent"],
    ["Deployment", "antrea-controller"],
    ["Deployment", "antrea-webhook"],
] as const;

async function podSpec(kind: string, name: string): Promise<PodSpec> {
    const manifest: Manifest = named(await render("--set", "featureGates.AntreaIPAM=true"), kind, name);
    return (manifest.spec?.["template"] as { readonly spec: PodSpec }).spec;
}

it("antrea-controller is probed at a socket in its container: an older one on the Node has the ports", async () => {
    const { containers, volumes = [] } = await podSpec("Deployment", "antrea-controller");
    const [main] = containers;
    expect(main?.livenessProbe?.exec).toEqual({ command: ["antrea-controller-probe", "/livez"] });
    expect(main?.readinessProbe?.exec).toEqual({ command: ["antrea-controller-probe", "/readyz"] });
    const socket = main?.env?.find((variable) => variable.name === "PROBE_SOCKET")?.value ?? "";
    const mount = main?.volumeMounts?.find(({ mountPath }) => dirname(socket) === mountPath);
    expect(volumes.find((volume) => volume.name === mount?.name)?.emptyDir).toBeDefined();
    expect(main?.ports).toBeUndefined();
    const image = new URL("../../../apps/controller/image/antrea-controller-probe", import.meta.url);
    expect(statSync(image).mode & 0o111).toBe(0o111);
    expect(readFileSync(image, "utf8")).toContain(socket);
    expect(readFileSync(new URL("../../images/build.sh", import.meta.url), "utf8")).toContain(
        "antrea-controller-probe",
    );
});

describe.each(probedByPort)("the Pods of %s %s", (kind, name, probePort) => {
    it("are probed on a port of 127.0.0.1 that the program serves and nobody else can use up", async () => {
        const [main] = (await podSpec(kind, name)).containers;
        const probe = { host: "127.0.0.1", port: probePort };
        expect(main?.livenessProbe?.httpGet).toEqual({ ...probe, path: "/livez" });
        expect(main?.readinessProbe?.httpGet).toEqual({ ...probe, path: "/readyz" });
        expect(main?.env).toContainEqual({ name: "PROBE_PORT", value: String(probePort) });
        expect((main?.ports ?? []).map(({ containerPort }) => containerPort)).not.toContain(probePort);
    });
});

describe.each(programs)("the Pods of %s %s", (kind, name) => {
    it("ask the DNS of their Node, not that of the cluster, which needs the network that they make", async () => {
        expect((await podSpec(kind, name)).dnsPolicy).toBe("Default");
    });

    it("run only on Nodes of the architecture that the images are for", async () => {
        expect((await podSpec(kind, name)).nodeSelector).toEqual({
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        });
    });

    // the kernel drops a signal that the first process of a container has no handler for: asked to end while it starts, a
    // program there would run on until it is killed, a minute later
    it("have an init before each program, which ends it also while it starts", async () => {
        const { containers } = await podSpec(kind, name);
        for (const { name: container, command = [], lifecycle } of containers) {
            expect([container, ...command.slice(0, 2)]).toEqual([container, "tini", "--"]);
            // the init needs a moment too, and kubelet may leave it none
            expect([container, lifecycle?.preStop?.exec?.command]).toEqual([container, ["true"]]);
        }
    });
});
