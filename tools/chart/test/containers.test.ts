import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { named, render, type Manifest } from "./render.ts";

interface SecurityContext {
    readonly privileged?: boolean;
    readonly runAsNonRoot?: boolean;
    readonly runAsUser?: number;
    readonly runAsGroup?: number;
    readonly allowPrivilegeEscalation?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
    readonly seccompProfile?: { readonly type: string };
}

interface PodSpec {
    readonly hostPID?: boolean;
    readonly hostIPC?: boolean;
    readonly hostNetwork?: boolean;
    readonly securityContext?: unknown;
    readonly initContainers?: readonly Container[];
    readonly containers: readonly Container[];
    readonly volumes?: readonly { readonly name: string; readonly hostPath?: { readonly path: string } }[];
}

interface Container {
    readonly name: string;
    readonly securityContext?: SecurityContext;
    readonly volumeMounts?: readonly {
        readonly name: string;
        readonly mountPath: string;
        readonly readOnly?: boolean;
    }[];
}

const set = (...values: readonly string[]): string[] => values.flatMap((value) => ["--set", value]);
const ipam = "featureGates.AntreaIPAM=true";
const ways = {
    plain: [],
    netdev: set("ovs.datapathType=netdev", ipam),
    bridging: set(ipam, "enableBridgingMode=true", "noSNAT=true"),
    "NICs of a secondary bridge": [
        ...set("featureGates.SecondaryNetwork=true"),
        "--set-json",
        'secondaryNetwork.ovsBridges=[{"bridgeName": "br-secondary", "physicalInterfaces": ["eth1"]}]',
    ],
    "modules loaded by others": set("agent.dontLoadKernelModules=true"),
} as const;

function podSpec({ spec }: Manifest): PodSpec {
    return (spec?.template as { readonly spec: PodSpec }).spec;
}

/** Every container that the chart starts, by its name. */
async function containers(options: readonly string[]): Promise<ReadonlyMap<string, Container>> {
    const manifests = await render(...options);
    const workloads = manifests.filter(({ spec }) => typeof spec === "object" && "template" in spec);
    const all = workloads
        .map(podSpec)
        .flatMap(({ initContainers = [], containers: main }) => [...initContainers, ...main]);
    return new Map(all.map((one) => [one.name, one]));
}

/** Of a program that needs nothing of its Node. */
const unprivileged: SecurityContext = {
    runAsNonRoot: true,
    runAsUser: 65534,
    runAsGroup: 65534,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
};

const installer = (...add: readonly string[]): SecurityContext => ({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"], ...(add.length > 0 && { add }) },
    seccompProfile: { type: "RuntimeDefault" },
});

const switchCapabilities: SecurityContext = {
    capabilities: { add: ["SYS_NICE", "NET_ADMIN", "SYS_ADMIN", "IPC_LOCK"] },
};

describe("what containers may do", () => {
    it.each<[keyof typeof ways, Readonly<Record<string, SecurityContext>>]>([
        [
            "plain",
            {
                "install-cni": installer("DAC_OVERRIDE", "SYS_MODULE"),
                "antrea-agent": { privileged: true },
                "antrea-ovs": switchCapabilities,
                "check-config": unprivileged,
                "antrea-controller": unprivileged,
                "antrea-webhook": unprivileged,
            },
        ],
        [
            "netdev",
            {
                "install-cni": installer("DAC_OVERRIDE"),
                "antrea-agent": { privileged: true },
                "antrea-ovs": { privileged: true },
                "check-config": unprivileged,
                "antrea-controller": unprivileged,
                "antrea-webhook": unprivileged,
            },
        ],
        [
            "bridging",
            {
                "install-cni": installer("DAC_OVERRIDE", "SYS_MODULE"),
                "antrea-agent": { privileged: true },
                "antrea-ovs": { privileged: true },
                "check-config": unprivileged,
                "antrea-controller": unprivileged,
                "antrea-webhook": unprivileged,
            },
        ],
        [
            "NICs of a secondary bridge",
            {
                "install-cni": installer("DAC_OVERRIDE", "SYS_MODULE"),
                "antrea-agent": { privileged: true },
                "antrea-ovs": { privileged: true },
                "check-config": unprivileged,
                "antrea-controller": unprivileged,
                "antrea-webhook": unprivileged,
            },
        ],
        [
            "modules loaded by others",
            {
                "install-cni": installer("DAC_OVERRIDE"),
                "antrea-agent": { privileged: true },
                "antrea-ovs": switchCapabilities,
                "check-config": unprivileged,
                "antrea-controller": unprivileged,
                "antrea-webhook": unprivileged,
            },
        ],
    ])("%s", async (way, expected) => {
        const found = [...(await containers(ways[way]))].map(([name, { securityContext }]) => [name, securityContext]);
        expect(Object.fromEntries(found)).toEqual(expected);
    });

    it("see of their Node the network, never its processes; controller and webhook none of its files", async () => {
        for (const options of Object.values(ways)) {
            const manifests = await render(...options);
            for (const manifest of manifests.filter(({ spec }) => typeof spec === "object" && "template" in spec)) {
                const { hostPID, hostIPC, volumes = [], securityContext } = podSpec(manifest);
                expect([hostPID, hostIPC, securityContext]).toEqual([undefined, undefined, undefined]);
                const paths = volumes.flatMap(({ hostPath }) => hostPath?.path ?? []);
                if (manifest.kind === "DaemonSet") expect(paths).not.toContain("/");
                else expect(paths).toEqual([]);
            }
        }
    });

    it("write of their Node what they must", async () => {
        const {
            volumes = [],
            initContainers = [],
            containers: main,
        } = podSpec(named(await render(...ways.bridging), "DaemonSet", "antrea-agent"));
        const pathOf = (name: string): string | undefined => volumes.find((one) => one.name === name)?.hostPath?.path;
        const written = [...initContainers, ...main].map(({ name, volumeMounts = [] }) => [
            name,
            [
                ...new Set(volumeMounts.filter(({ readOnly }) => readOnly !== true).map((one) => pathOf(one.name))),
            ].sort(),
        ]);
        expect(Object.fromEntries(written)).toEqual({
            "install-cni": ["/opt/cni/bin"],
            "antrea-agent": [
                "/etc/cni/net.d",
                "/run/xtables.lock",
                "/var/lib/antrea",
                "/var/run/antrea",
                "/var/run/netns",
            ],
            "antrea-ovs": ["/var/lib/antrea", "/var/run/antrea"],
        });
    });

    it.each(["controller", "webhook"])("the image of antrea-%s has the user that the chart sets", (app) => {
        const dockerfile = readFileSync(new URL(`../../../apps/${app}/Dockerfile`, import.meta.url), "utf8");
        expect(dockerfile.match(/^USER .*$/gm)).toEqual([`USER ${unprivileged.runAsUser}:${unprivileged.runAsGroup}`]);
    });
});
