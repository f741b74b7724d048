import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { parse } from "yaml";
import { conflistText } from "@antrea/agent/features/cni-server/conflist";
import { loadAgentConfig, loadControllerConfig } from "@antrea/settings";
import { chart, named, render, required, run, type Manifest } from "./render.ts";

/** Every leaf of values.yaml; a map that users fill is a leaf. */
function leaves(value: unknown, path: readonly string[] = []): string[][] {
    const isGroup =
        typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
    return isGroup ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key])) : [[...path]];
}

const open = new Set(["nodeSelector", "updateStrategy", "resources"]);
const paths = leaves(parse(readFileSync(new URL("values.yaml", chart), "utf8"))).filter(
    (path) => !path.slice(0, -1).some((key) => open.has(key)),
);

const readme = readFileSync(new URL("../../README.md", chart), "utf8");
const ipam = ["--set", "featureGates.AntreaIPAM=true"];

interface Container {
    readonly image: string;
    readonly command: readonly string[];
    readonly args?: readonly string[];
    readonly ports?: readonly unknown[];
    readonly volumeMounts: readonly unknown[];
}

interface PodTemplate {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: {
        readonly hostNetwork?: boolean;
        readonly terminationGracePeriodSeconds?: number;
        readonly volumes?: readonly {
            readonly name: string;
            readonly configMap?: { readonly items: readonly { readonly key: string; readonly path: string }[] };
        }[];
        readonly containers: readonly {
            readonly name: string;
            readonly securityContext?: { readonly privileged?: boolean };
        }[];
    };
}

function podTemplate({ spec }: Manifest): PodTemplate {
    return spec?.template as PodTemplate;
}

describe("chart antrea", () => {
    it("takes a values file whose feature gates are null for one without any", async () => {
        const names = (manifests: readonly Manifest[]): readonly string[] =>
            manifests.map(({ metadata }) => metadata.name);
        expect(names(await render("--set", "featureGates=null"))).toEqual(names(await render()));
    });

    it("has schema and README as in values.yaml", async () => {
        const generate = new URL("../generate.ts", import.meta.url).pathname;
        await expect(run("node", [generate, "--check"])).resolves.toBeDefined();
    });

    it("passes helm lint", async () => {
        const { stdout } = await run("helm", ["lint", "--strict", chart.pathname, ...required]);
        expect(stdout).toContain("0 chart(s) failed");
    });

    it("refuses every value that is misspelt and names it", async () => {
        expect(paths.length).toBeGreaterThan(50);
        for (const path of paths) {
            const wrong = `${path.at(-1)}x`;
            const key = [...path.slice(0, -1), wrong].join(".");
            await expect(run("helm", ["lint", chart.pathname, ...required, "--set", `${key}=1`])).rejects.toMatchObject(
                {
                    stdout: expect.stringContaining(wrong),
                },
            );
        }
        // a process of helm for each of them
    }, 300_000);

    it.each([
        [
            "a mode that is not there",
            ["--set", "trafficEncapMode=networkPolicyOnly"],
            'trafficEncapMode: "networkPolicyOnly": not available',
        ],
        [
            "Pods' addresses on networks that do not know them",
            ["--set", "trafficEncapMode=encap,noSNAT=true"],
            "noSNAT",
        ],
        ["a port for a tunnel without ports", ["--set", "tunnelType=gre,tunnelPort=4754"], "tunnelPort"],
        ["a mode that does not exist", ["--set", "trafficEncapMode=none"], "trafficEncapMode"],
        ["nodeIPAM without a range", ["--set", "nodeIPAM.enable=true"], "nodeIPAM.clusterCIDRs"],
        ["a mask that is out of range", ["--set", "nodeIPAM.nodeCIDRMaskSizeIPv4=31"], "nodeCIDRMaskSizeIPv4"],
        ["a duration without a unit", ["--set-string", "ipam.cooldown=30"], "cooldown"],
        ["a check of the uplink that ends at once", ["--set-string", "uplink.checkTimeout=999ms"], "checkTimeout"],
        ["one that does not end", ["--set-string", "uplink.checkTimeout=10m1s"], "checkTimeout"],
        ["text where a number belongs", ["--set", "agent.apiPort=high"], "apiPort"],
    ])("refuses %s", async (_name, options, message) => {
        await expect(render(...options)).rejects.toMatchObject({ stderr: expect.stringContaining(message) });
    });

    it("writes configuration files that are YAML with the values given", async () => {
        const manifests = await render(
            "--set",
            "ovs.datapathType=netdev,noSNAT=true,featureGates.NodeIPAM=true,agent.apiPort=10399,ipam.cooldown=2m",
            "--set",
            "nodeIPAM.enable=true,nodeIPAM.clusterCIDRs={10.0.0.0/16,fd00::/56}",
        );
        const { data = {} } = named(manifests, "ConfigMap", "antrea-config");
        expect(parse(data["antrea-agent.conf"] ?? "")).toMatchObject({
            ovsDatapathType: "netdev",
            noSNAT: true,
            trafficEncapMode: "noEncap",
            apiPort: 10399,
            ipam: { cooldown: "2m" },
            featureGates: { NodeIPAM: true },
        });
        expect(parse(data["antrea-controller.conf"] ?? "")).toMatchObject({
            ipam: { cleanInterval: "60s" },
            nodeIPAM: { enableNodeIPAM: true, clusterCIDRs: ["10.0.0.0/16", "fd00::/56"], nodeCIDRMaskSizeIPv4: 24 },
        });
    });

    describe("the CNI configuration", () => {
        const conflist = async (...options: string[]): Promise<unknown> => {
            const { data = {} } = named(await render(...options), "ConfigMap", "antrea-config");
            return JSON.parse(data["10-antrea.conflist"] ?? "") as unknown;
        };

        it("is of a version that every container runtime knows, and the same that the agent has without a chart", async () => {
            expect(await conflist()).toMatchObject({ cniVersion: "1.0.0", name: "antrea" });
            for (const [portmap, bandwidth] of [
                [true, true],
                [true, false],
                [false, true],
                [false, false],
            ] as const) {
                const values = `cni.plugins.portmap=${portmap},cni.plugins.bandwidth=${bandwidth}`;
                expect(await conflist("--set", values)).toEqual(JSON.parse(conflistText({ portmap, bandwidth })));
            }
            expect(await conflist()).toEqual(JSON.parse(conflistText({ portmap: true, bandwidth: true })));
        });

        it("is of 1.1.0, with STATUS and GC, when that is asked for", async () => {
            expect(await conflist("--set", "cni.version=1.1.0")).toMatchObject({ cniVersion: "1.1.0" });
        });

        it("has a key of its own: an agent of the release before finds only plugins that its Node has", async () => {
            const manifests = await render();
            const { data = {} } = named(manifests, "ConfigMap", "antrea-config");
            // as the release before wrote it
            expect(JSON.parse(data["antrea-cni.conflist"] ?? "")).toEqual({
                cniVersion: "1.1.0",
                name: "antrea",
                plugins: [{ type: "antrea" }, { type: "portmap", capabilities: { portMappings: true } }],
            });
            const { volumes } = podTemplate(named(manifests, "DaemonSet", "antrea-agent")).spec;
            expect(volumes?.find(({ name }) => name === "antrea-config")?.configMap?.items).toContainEqual({
                key: "10-antrea.conflist",
                path: "antrea-cni.conflist",
            });
        });

        it.each(["0.4.0", "1.1", "2.0.0"])("is never of %s", async (version) => {
            await expect(render("--set-string", `cni.version=${version}`)).rejects.toMatchObject({
                stderr: expect.stringMatching(/version.*"?1\.0\.0"?/s),
            });
        });
    });

    it("restarts exactly the programs whose configuration changed", async () => {
        const checksums = async (...options: string[]): Promise<(string | undefined)[]> => {
            const manifests = await render(...options);
            return ["DaemonSet/antrea-agent", "Deployment/antrea-controller", "Deployment/antrea-webhook"].map((id) => {
                const [kind = "", name = ""] = id.split("/");
                return podTemplate(named(manifests, kind, name)).metadata.annotations?.["checksum/config"];
            });
        };
        const [agent, controller, webhook] = await checksums();
        const others = (sum: string | undefined): unknown => expect.not.stringMatching(sum ?? "");
        expect(await checksums("--set", "noSNAT=true")).toEqual([others(agent), controller, webhook]);
        expect(await checksums("--set", "controller.apiPort=10400")).toEqual([agent, others(controller), webhook]);
        expect(await checksums("--set", "nodeIPAM.enable=true,nodeIPAM.clusterCIDRs={10.0.0.0/16}")).toEqual([
            agent,
            others(controller),
            others(webhook),
        ]);
        expect(await checksums("--set", "agentImage.pullPolicy=Always")).toEqual([agent, controller, webhook]);
        expect(webhook).toMatch(/^[0-9a-f]{64}$/);
    });

    it("takes the earlier controller away when the new one has accepted its configuration, on one Node too", async () => {
        const { spec } = named(await render(), "Deployment", "antrea-controller");
        expect(spec?.strategy).toEqual({ type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } });
        const pod = (spec?.template as { readonly spec: Readonly<Record<string, readonly Container[]>> }).spec;
        const [check] = pod["initContainers"] ?? [];
        const [main] = pod["containers"] ?? [];
        expect([check?.image, check?.args]).toEqual([main?.image, main?.args]);
        expect(main?.volumeMounts).toEqual(expect.arrayContaining([...(check?.volumeMounts ?? [])]));
        expect(check?.command).toEqual(["antrea-controller", "--check"]);
        // a port of the Node that is declared keeps a second Pod from it
        expect([check?.ports, main?.ports]).toEqual([undefined, undefined]);
    });

    it.each([
        ["without bridging mode", [], 70, undefined],
        ["with bridging mode", ["--set", "enableBridgingMode=true,featureGates.AntreaIPAM=true,noSNAT=true"], 70, true],
    ])(
        "gives the agent the time and rights to give a Node its NIC back: %s",
        async (_, options, seconds, privileged) => {
            const { spec } = podTemplate(named(await render(...options), "DaemonSet", "antrea-agent"));
            expect(spec.terminationGracePeriodSeconds).toBe(seconds);
            const ovs = spec.containers.find(({ name }) => name === "antrea-ovs");
            expect(ovs?.securityContext?.privileged).toBe(privileged);
        },
    );

    it("has a grace period for all that start-ovs may wait for", async () => {
        const script = readFileSync(new URL("../../apps/agent/image/start-ovs", chart), "utf8");
        const limit = (name: string): number => Number(new RegExp(`\\{${name}:-(\\d+)\\}`).exec(script)?.[1]);
        const { spec } = podTemplate(named(await render(), "DaemonSet", "antrea-agent"));
        // The agent; then restore-uplink, which is begun again for some time, and takes 20 s; then both daemons. Each limit is
        // kept to a second.
        const limits = ["AGENT_SECONDS", "RETRY_SECONDS", "END_SECONDS"].map(limit);
        expect(limits).toEqual([25, 10, 5]);
        const [agent = 0, retry = 0, end = 0] = limits;
        const atMost = agent + retry + 1 + 20 + 2 * (end + 1);
        expect(atMost).toBeLessThan(spec.terminationGracePeriodSeconds ?? 0);
    });

    it.each([
        ["off", []],
        ["on", ["--set", "featureGates.AntreaIPAM=true,nodeIPAM.enable=true,nodeIPAM.clusterCIDRs={10.0.0.0/16}"]],
    ])(
        "has what IPPools and NodeIPAM need, as the ConfigMap may switch them on, when they are %s",
        async (_name, options) => {
            const manifests = await render(...options);
            const kinds = (kind: string): string[] =>
                manifests.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name);
            expect(kinds("CustomResourceDefinition").sort()).toEqual([
                "ipallocations.crd.antrea.io",
                "ippools.crd.antrea.io",
            ]);
            expect(kinds("ValidatingWebhookConfiguration")).toEqual(["antrea"]);
            expect(kinds("Deployment").sort()).toEqual(["antrea-controller", "antrea-webhook"]);
            expect(kinds("Service")).toEqual(["antrea-webhook"]);
            expect(kinds("ValidatingAdmissionPolicy")).toHaveLength(11);
            expect(kinds("ValidatingAdmissionPolicyBinding").sort()).toEqual(kinds("ValidatingAdmissionPolicy").sort());
            for (const definition of manifests.filter(({ kind }) => kind === "CustomResourceDefinition")) {
                expect(definition.metadata.annotations).toEqual({ "helm.sh/resource-policy": "keep" });
            }
            const rules = (name: string): unknown => named(manifests, "ClusterRole", name).rules;
            const always = await render();
            for (const name of ["antrea-agent", "antrea-controller", "antrea-webhook"]) {
                expect(rules(name)).toEqual(named(always, "ClusterRole", name).rules);
            }
            expect(rules("antrea-controller")).toContainEqual({
                apiGroups: [""],
                resources: ["nodes"],
                verbs: ["patch"],
            });
        },
    );

    it("reports where a user looks first that NetworkPolicies are not enforced", () => {
        const page = (name: string): string => readFileSync(new URL(name, chart), "utf8");
        const [firstScreen = ""] = readme.split("\n## Three reasons");
        const [, limits = ""] = page("../../docs/operations.md").split("\n## Limits");
        for (const text of [page("templates/NOTES.txt"), firstScreen, limits]) {
            expect(text).toMatch(/NetworkPolicies are not enforced|not enforce NetworkPolicies/i);
        }
    });

    it("has a README that starts with what a new user has to know, and where the images come from", () => {
        const [firstScreen = ""] = readme.split("\n## Three reasons");
        const [, install = ""] = readme.split("\n## Install");
        for (const text of ["own Node only", "`system`", "`ovs.datapathType=netdev`"])
            expect(firstScreen).toContain(text);
        for (const text of ["make push REGISTRY=", "--kube-version", "--reset-then-reuse-values"])
            expect(install).toContain(text);
    });

    it("is installed by the README with the images that its make push pushes", async () => {
        const [, registry = ""] = /^make push REGISTRY=(\S+)/m.exec(readme) ?? [];
        const [, options = ""] =
            /^helm upgrade --install antrea charts\/antrea ((?:.*\\\n)*.*)$/m.exec(
                readme.split("\n## Install")[1] ?? "",
            ) ?? [];
        const args = options.split(/[\s\\]+/);
        const { stdout } = await run("helm", [
            "template",
            "antrea",
            chart.pathname,
            "--kube-version",
            "1.33.0",
            ...args,
        ]);
        const images = new Set([...stdout.matchAll(/^ *image: "?([^"\s]+)/gm)].map(([, image]) => image));
        const { appVersion } = parse(readFileSync(new URL("Chart.yaml", chart), "utf8")) as { appVersion: string };
        expect([...images].sort()).toEqual(
            ["agent", "controller", "webhook"].map((app) => `${registry}/antrea-${app}:${appVersion}`),
        );
    });

    it("is installed by every other option of the README too", async () => {
        const [, section = ""] = readme.split("\n## Install");
        const options = [...section.matchAll(/`(--set .*?)`/g)].map(([, option = ""]) => option);
        expect(options).toHaveLength(2);
        for (const option of options) await render(...option.replaceAll("'", "").split(" "));
    });

    it("names the accounts of the Namespace of the release in the policies", async () => {
        const manifests = await render(...ipam, "--namespace", "antrea-system");
        const { spec } = named(manifests, "ValidatingAdmissionPolicy", "antrea-agent-ipallocations");
        expect(JSON.stringify(spec)).toContain("system:serviceaccount:antrea-system:antrea-agent");
        expect(JSON.stringify(manifests)).not.toContain("kube-system");
    });

    it("gives the webhook its port, its image and where the API server is", async () => {
        const manifests = await render(
            ...ipam,
            "--set",
            "webhook.port=9444,webhookImage.tag=dev,kubeAPIServerOverride=https://10.0.0.1:6443,webhook.replicas=1",
        );
        const deployment = named(manifests, "Deployment", "antrea-webhook");
        expect(deployment.spec?.replicas).toBe(1);
        const { hostNetwork, containers } = podTemplate(deployment).spec;
        expect(hostNetwork).toBe(true);
        expect(containers[0]).toMatchObject({
            image: "antrea/antrea-webhook:dev",
            args: [
                "--config=/etc/antrea/antrea-controller.conf",
                "--v=0",
                "--port=9444",
                "--kube-apiserver=https://10.0.0.1:6443",
            ],
            ports: [{ name: "https", containerPort: 9444 }],
        });
        expect(named(manifests, "Service", "antrea-webhook").spec?.ports).toEqual([
            { name: "https", port: 443, targetPort: "https", protocol: "TCP" },
        ]);
    });

    it("never writes a caBundle, which is the webhook's to keep", async () => {
        const { webhooks = [] } = named(await render(...ipam), "ValidatingWebhookConfiguration", "antrea");
        expect(
            webhooks.map(({ name, failurePolicy, timeoutSeconds }) => [name, failurePolicy, timeoutSeconds]),
        ).toEqual([
            ["ippools.antrea.io", "Fail", 5],
            ["workloads.antrea.io", "Ignore", 2],
            ["scale.antrea.io", "Ignore", 2],
            ["networks.antrea.io", "Ignore", 5],
        ]);
        expect(JSON.stringify(webhooks)).not.toContain("caBundle");
    });

    it.each([
        [[], false],
        [["--set", "featureGates.SecondaryNetwork=true"], true],
        [["--set", "featureGates.AllAlpha=true"], true],
        [["--set", "featureGates.AllAlpha=true,featureGates.SecondaryNetwork=false"], false],
    ])("passes the webhook the gate of the agent that attaches networks: %j", async (options, isOn) => {
        const { data = {} } = named(await render(...options), "ConfigMap", "antrea-config");
        const ofAgent = loadAgentConfig(data["antrea-agent.conf"] ?? "").gates;
        const ofWebhook = loadControllerConfig(data["antrea-controller.conf"] ?? "").gates;
        expect([ofAgent, ofWebhook].map((gates) => gates.enabled("SecondaryNetwork"))).toEqual([isOn, isOn]);
    });

    it("gives the agents, which are one user, a level of the API server with room for a thousand of them", async () => {
        const manifests = await render();
        const level = (
            name: string,
        ): { readonly waiting: number; readonly shares: number; readonly accounts: readonly string[] } => {
            const { limited } = named(manifests, "PriorityLevelConfiguration", name).spec as {
                readonly limited: {
                    readonly nominalConcurrencyShares: number;
                    readonly limitResponse: {
                        readonly queuing: { readonly handSize: number; readonly queueLengthLimit: number };
                    };
                };
            };
            const { rules } = named(manifests, "FlowSchema", name).spec as {
                readonly rules: readonly {
                    readonly subjects: readonly { readonly serviceAccount: { readonly name: string } }[];
                }[];
            };
            const { handSize, queueLengthLimit } = limited.limitResponse.queuing;
            return {
                // one user, one flow: it has the queues of one hand
                waiting: handSize * queueLengthLimit,
                shares: limited.nominalConcurrencyShares,
                accounts: rules.flatMap(({ subjects }) => subjects.map(({ serviceAccount }) => serviceAccount.name)),
            };
        };
        expect(level("antrea-agents")).toEqual({ waiting: 4000, shares: 30, accounts: ["antrea-agent"] });
        expect(level("antrea")).toEqual({
            waiting: 500,
            shares: 10,
            accounts: ["antrea-controller", "antrea-webhook"],
        });
    });

    // What exactly each program may do is held against its code in tools/security/test/permissions.test.ts.
    it.each([["off", []] as const, ["on", ipam] as const])(
        "grants nothing by a wildcard, with the gate %s",
        async (_name, options) => {
            const manifests = await render(...options);
            for (const { apiGroups, resources, verbs } of manifests.flatMap(({ rules = [] }) => rules)) {
                expect([...apiGroups, ...resources, ...verbs]).not.toContain("*");
            }
        },
    );
});
