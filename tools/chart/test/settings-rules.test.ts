import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { gateSpecs, loadAgentConfig, loadControllerConfig, SettingsError, type Finding } from "@antrea/settings";
import { parse } from "yaml";
import { mappedValues, type MappedValue } from "../settings-keys.ts";
import { chart, run } from "./render.ts";

type Tree = Readonly<Record<string, unknown>>;

const folder = mkdtempSync(join(tmpdir(), "settings-rules-"));
const defaults = parse(readFileSync(new URL("values.yaml", chart), "utf8")) as Tree;
const mapped = mappedValues();

function at(tree: unknown, path: string): unknown {
    return path.split(".").reduce<unknown>((level, step) => (level as Tree | undefined)?.[step], tree);
}

function put(tree: Tree, path: string, value: unknown): Tree {
    const [step = "", ...rest] = path.split(".");
    const inner = rest.length === 0 ? value : put((tree[step] ?? {}) as Tree, rest.join("."), value);
    return { ...tree, [step]: inner };
}

/** Values of the chart by dotted path; "featureGates" stands for the whole map. */
type Values = Readonly<Record<string, unknown>>;

interface Refusal {
    readonly path: string;
    readonly value: unknown;
    readonly rule: string;
}

/** What agent and controller would refuse at their start, of the files that these values make. */
function refusals(values: Values): readonly Refusal[] {
    const found = (["agent", "controller"] as const).flatMap((component) => {
        const own = mapped.filter((one) => one.component === component);
        const given = (path: string): unknown => (path in values ? values[path] : at(defaults, path));
        const file = own.reduce<Tree>((tree, { key, path }) => put(tree, key, given(path)), {});
        const load = component === "agent" ? loadAgentConfig : loadControllerConfig;
        return findingsOf(() => load(JSON.stringify(file))).map(({ key, rule }) => {
            const path = pathOf(own, key);
            return { path, value: given(path), rule: inValues(rule) };
        });
    });
    return [...new Map(found.map((one) => [`${one.path}: ${one.rule}`, one])).values()];
}

function findingsOf(load: () => unknown): readonly Finding[] {
    try {
        load();
        return [];
    } catch (error) {
        expect(error).toBeInstanceOf(SettingsError);
        return (error as SettingsError).details.findings ?? [];
    }
}

function pathOf(own: readonly MappedValue[], key: string): string {
    const [name = "", ...within] = key.split(/(?=\[)/);
    return (own.find((one) => one.key === name)?.path ?? name) + within.join("");
}

function inValues(rule: string): string {
    return rule
        .replace(/(differ from|the bridge of) ovsBridge/, "$1 ovs.bridgeName")
        .replace("enableNodeIPAM is", "enable is");
}

/** What helm reports against them, one line each. */
async function helmReports(values: Values): Promise<readonly string[]> {
    const file = join(folder, "values.json");
    const tree = Object.entries(values).reduce<Tree>((all, [path, value]) => put(all, path, value), {});
    writeFileSync(file, JSON.stringify(tree));
    const args = ["template", "antrea", chart.pathname, "--kube-version", "1.33.0", "-f", file];
    try {
        await run("helm", args, { maxBuffer: 16 << 20 });
        return [];
    } catch (error) {
        const { stderr } = error as { readonly stderr: string };
        const [, list] = stderr.split("these values cannot be used:\n");
        if (list === undefined) return [stderr];
        return list.split("\n").filter((line) => line !== "" && !line.startsWith("Use --debug"));
    }
}

/** Helm refuses exactly what the programs would refuse, and names value and rule. */
async function expectSame(values: Values): Promise<number> {
    const expected = refusals(values);
    const lines = await helmReports(values);
    const missing = expected.filter(
        ({ path, rule }) => !lines.some((line) => line.startsWith(`${path}: `) && line.endsWith(`: ${rule}`)),
    );
    expect({ values, missing, lines: lines.length }).toEqual({ values, missing: [], lines: expected.length });
    for (const { path, value } of expected) {
        if (value !== undefined) expect(lines.join("\n")).toContain(`${path}: ${JSON.stringify(value)}: `);
    }
    return expected.length;
}

const schema = JSON.parse(readFileSync(new URL("values.schema.json", chart), "utf8")) as unknown;
function schemaOf(path: string): Tree {
    return at(schema, `properties.${path.replaceAll(".", ".properties.")}`) as Tree;
}
const ofType = (type: string): readonly string[] =>
    [...new Set(mapped.map(({ path }) => path))].filter((path) => schemaOf(path)["type"] === type);
const texts = ofType("string").filter((path) => schemaOf(path)["enum"] === undefined);
/** Lists of texts; one of maps has a test of its own. */
const lists = ofType("array").filter((path) => at(schemaOf(path), "items.type") === "string");
const numbers = ofType("integer");

/** Each value of a kind has this value at once. */
const everywhere = (paths: readonly string[], value: unknown): Values =>
    Object.fromEntries(paths.map((path) => [path, value]));

describe("the chart refuses what agent or controller would refuse", () => {
    afterAll(() => rmSync(folder, { recursive: true }));

    it("knows all values that go into their files", () => {
        expect([texts.length, lists.length, numbers.length]).toEqual([14, 4, 6]);
    });

    it.each(
        [
            [
                "",
                "eth0",
                "toolongnameforaninterface",
                "a/b",
                ".",
                "10.0.0.1",
                "10.244.0.0",
                "10.244.0.0/16",
                "10.0.0.0/33",
            ],
            [
                "fd00::/64",
                "fd00::/129",
                "::ffff:10.0.0.0/104",
                "fd00::1",
                "http://foo bar",
                "https://10.0.0.1:6443",
                "host:0",
            ],
            ["0s", "0", "30", "1s", "999ms", "1.5s", "10m", "10m1s", "1h30m", "0.2h", "soon", "99999999999h"],
            [
                "FOO",
                "TLS_AES_128_GCM_SHA256",
                "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384",
                "TLS_AES_128_GCM_SHA256,",
            ],
        ].flat(),
    )("of texts: %j", async (text) => {
        // two interfaces of one name would be wrong for that alone
        const single = ["ovs.bridgeName", "hostGateway"];
        const groups = [...single.map((path) => [path]), texts.filter((path) => !single.includes(path))];
        const found: number[] = [];
        for (const paths of groups) found.push(await expectSame(everywhere(paths, text)));
        expect(Math.max(...found)).toBeGreaterThan(0);
    });

    it.each([
        [["10.0.0.0/16"]],
        [["10.0.0.0"]],
        [["10.0.0.0/16", "fd00::/56"]],
        [["10.0.0.0/16", "10.1.0.0/16"]],
        [["10.0.0.0/16", "fd00::", "foo"]],
    ])("of lists: %j", async (list) => {
        await expectSame(everywhere(lists, list));
    });

    it.each([
        [["10.0.0.0/25"]],
        [["fd00::/47"]],
        [["10.0.0.0/16", "fd00::/65"]],
        [["10.0.0.0/16", "fd00::/48"]],
        [[]],
        // more subnets than can be kept account of
        [["0.0.0.0/1"]],
        [["32.0.0.0/3"]],
        [["10.0.0.0/2", "fd00::/47"]],
        // of which no Pod can have an address
        ...[
            "0.0.0.0/0",
            "0.0.0.0/8",
            "127.0.0.0/8",
            "127.0.0.1/24",
            "96.0.0.0/3",
            "224.0.0.0/8",
            "239.1.0.0/16",
            "169.254.0.0/16",
        ].map((range) => [[range]]),
        ...["255.255.0.0/16", "168.0.0.0/7", "255.0.0.0/24", "240.0.0.0/8", "10.244.0.1/16", "169.255.0.0/16"].map(
            (range) => [[range]],
        ),
        ...[
            "ff02::/48",
            "FF02::/48",
            "fe80::/48",
            "fe80::1:2/48",
            "febf::/56",
            "fec0::/56",
            "::/48",
            "::/128",
            "::1/112",
            "::2/127",
        ].map((range) => [[range]]),
        ...[
            "::ffff:0:0/48",
            "0:0:0:0:0:fffe::/112",
            "::1.2.3.4/120",
            "1:2:3:4:5:6:7:8/56",
            "1:2:3:4:5:6:7::/56",
            "1::8/56",
            "8000::/1",
        ].map((range) => [[range]]),
        [["127.0.0.0/8", "ff02::/48"]],
        [["127.0.0.0/8", "foo"]],
        [["127.0.0.0/33"]],
        [["224.0.0.0/8", "127.0.0.0/8"]],
    ])("of NodeIPAM with ranges %j, with its gate and without", async (ranges) => {
        const values: Values = { "nodeIPAM.enable": true, "nodeIPAM.clusterCIDRs": ranges };
        await expectSame(values);
        await expectSame({ ...values, featureGates: { NodeIPAM: false } });
        await expectSame({ ...values, featureGates: { AllBeta: false } });
        await expectSame({ ...values, featureGates: { AllBeta: false, NodeIPAM: true } });
    });

    it.each([-1, 0, 1, 15, 17, 31, 100, 575, 576, 65_535, 65_536])("of numbers: %j", async (number) => {
        // JSON Schema rejects some, which keeps helm from the others
        const [schemaRejects, own] = [numbers, numbers].map((paths, which) =>
            paths.filter((path) => {
                const { minimum, maximum } = schemaOf(path) as { readonly minimum: number; readonly maximum: number };
                return (number < minimum || number > maximum) === (which === 0);
            }),
        ) as [string[], string[]];
        expect(refusals(everywhere(schemaRejects, number))).toHaveLength(schemaRejects.length);
        if (schemaRejects.length > 0) {
            const reported = (await helmReports(everywhere(schemaRejects, number))).join("\n");
            for (const path of schemaRejects) expect(reported).toContain(`'/${path.replaceAll(".", "/")}'`);
        }
        // Each program with its port alone: no two may have the same.
        const other = "controller.apiPort";
        await expectSame(
            everywhere(
                own.filter((path) => path !== other),
                number,
            ),
        );
        if (own.includes(other)) await expectSame({ [other]: number });
    });

    const modes = ["encap", "noEncap", "hybrid", "networkPolicyOnly"];
    const gates = [{}, { AntreaIPAM: true }, { AllAlpha: true }, { AllAlpha: true, AntreaIPAM: false }];
    it.each(modes)("of values that do not fit each other, with %s", async (trafficEncapMode) => {
        for (const noSNAT of [true, false])
            for (const enableBridgingMode of [true, false])
                for (const featureGates of gates) {
                    await expectSame({ trafficEncapMode, noSNAT, enableBridgingMode, featureGates });
                }
    });

    it.each<[Values]>([
        [{ hostGateway: "br-int" }],
        [{ transportInterface: "antrea-gw0" }],
        [{ transportInterface: "br-int" }],
        [{ hostGateway: "eth1", transportInterface: "eth1" }],
        ...["lo", "all", "default", "ovs-system", "ovs-netdev", "antrea-tun0"].flatMap((name): [Values][] => [
            [{ hostGateway: name }],
            [{ "ovs.bridgeName": name }],
        ]),
        [{ hostGateway: "lo0", "ovs.bridgeName": "ovs-br0", transportInterface: "lo" }],
        [{ tunnelType: "gre", tunnelPort: 1 }],
        [{ tunnelType: "gre" }],
        [{ tunnelType: "vxlan", tunnelPort: 1 }],
    ])("of values that do not fit each other: %j", async (values) => {
        await expectSame(values);
    });

    it("of feature gates: what is not available may be off, and what is not known may not be there", async () => {
        const all = (value: boolean): Tree => Object.fromEntries(gateSpecs.map(({ name }) => [name, value]));
        expect(await expectSame({ featureGates: all(false) })).toBe(0);
        expect(await expectSame({ featureGates: { AllAlpha: true, AllBeta: true } })).toBe(0);
        const refused = await helmReports({ featureGates: all(true) });
        expect([...refused].sort()).toEqual(
            gateSpecs
                .filter(({ available }) => !available)
                .map(
                    ({ name }) =>
                        `featureGates.${name}: true: not available in this version; remove it or set it to false`,
                )
                .sort(),
        );
        expect(refusals({ featureGates: all(true) })).toHaveLength(refused.length);
        expect(await helmReports({ featureGates: { Nonsense: false, antreaIPAM: true } })).toEqual([
            "featureGates.Nonsense: false: unknown feature gate; docs/feature-gates.md lists those there are",
            "featureGates.antreaIPAM: true: unknown feature gate; did you mean AntreaIPAM?",
        ]);
        expect(refusals({ featureGates: { Nonsense: false, antreaIPAM: true } })).toHaveLength(2);
    });

    const nics = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `eth${index}`);
    const bridge = { bridgeName: "br-sec", physicalInterfaces: ["eth1", "eth2"] };
    it.each<[name: string, findings: number, ovsBridges: readonly Tree[], more?: Values]>([
        ["none", 0, []],
        ["one", 0, [bridge]],
        ["one with all keys", 0, [{ ...bridge, physicalInterfaces: nics(8), enableMulticastSnooping: true }]],
        ["two", 1, [bridge, { ...bridge, bridgeName: "br-other" }]],
        ["two that are wrong themselves", 1, [{}, { bridgeName: "br-int", physicalInterfaces: ["a b"] }]],
        ["without keys", 2, [{}]],
        ["without name", 1, [{ physicalInterfaces: ["eth1"] }]],
        ["with an empty name", 1, [{ ...bridge, bridgeName: "" }]],
        ...["br sec", "br/sec", "br:sec", "..", "sixteen-letters0", "é", "lo", "ovs-system", "antrea-tun0"].map(
            (bridgeName): [string, number, readonly Tree[]] => [`called ${bridgeName}`, 1, [{ ...bridge, bridgeName }]],
        ),
        ["without NICs", 1, [{ bridgeName: "br-sec" }]],
        ["with no NIC", 1, [{ ...bridge, physicalInterfaces: [] }]],
        ["with nine NICs", 1, [{ ...bridge, physicalInterfaces: nics(9) }]],
        ["with nine NICs of one name", 1, [{ ...bridge, physicalInterfaces: nics(9).map(() => "a b") }]],
        ["with NICs of no valid names", 4, [{ ...bridge, physicalInterfaces: ["", "a b", "a/b", "sixteen-letters0"] }]],
        ["with a NIC called lo", 0, [{ ...bridge, physicalInterfaces: ["lo"] }]],
        ["with a NIC twice", 1, [{ ...bridge, physicalInterfaces: ["eth2", "eth1", "eth1", "eth2"] }]],
        ["called as the Pod network's", 1, [{ ...bridge, bridgeName: "br-int" }]],
        [
            "called as the Pod network's, with a NIC twice",
            2,
            [{ bridgeName: "br-int", physicalInterfaces: ["a", "a"] }],
        ],
        ["called as the Pod network's was", 0, [{ ...bridge, bridgeName: "br-int" }], { "ovs.bridgeName": "br-pods" }],
        ["called as the Pod network's is", 1, [{ ...bridge, bridgeName: "br-pods" }], { "ovs.bridgeName": "br-pods" }],
    ])("of secondary bridges: %s", async (_name, findings, ovsBridges, more = {}) => {
        for (const featureGates of [{}, { SecondaryNetwork: true }]) {
            const values = { ...more, featureGates, "secondaryNetwork.ovsBridges": ovsBridges };
            expect(await expectSame(values)).toBe(findings);
        }
    });

    it.each<[name: string, ovsBridges: readonly unknown[], named: string]>([
        ["a key that is misspelt", [{ ...bridge, physicalInterface: "eth1" }], "physicalInterface"],
        ["NICs that are a text", [{ ...bridge, physicalInterfaces: "eth1" }], "physicalInterfaces"],
        ["a switch that is a text", [{ ...bridge, enableMulticastSnooping: "yes" }], "enableMulticastSnooping"],
        ["a name without its key", ["br-sec"], "ovsBridges/0"],
    ])("of secondary bridges by their schema: %s", async (_name, ovsBridges, named) => {
        expect((await helmReports({ "secondaryNetwork.ovsBridges": ovsBridges })).join()).toContain(named);
    });

    it.each([
        ["agent.antreaAgent.extraArgs", ["--v=4", "--log_dir=/var/log/antrea"], "[1]: "],
        ["controller.antreaController.extraArgs", ["--logtostderr"], "[0]: "],
        ["webhook.antreaWebhook.extraArgs", ["--port=1", "--confg=x"], "[1]: "],
        ["agent.antreaAgent.extraArgs", ["--v=high"], "[0]: "],
    ])("of arguments: %s %j", async (path, list, where) => {
        const lines = await helmReports({ [path]: list });
        expect(lines).toHaveLength(1);
        expect(lines[0]).toContain(path + where);
    });

    it.each<[Values, readonly string[]]>([
        [{ "controller.replicas": 0 }, []],
        [
            { "controller.replicas": 0, "nodeIPAM.enable": true, "nodeIPAM.clusterCIDRs": ["10.0.0.0/16"] },
            ["controller"],
        ],
        [
            { "controller.replicas": 0, "webhook.replicas": 0, featureGates: { AntreaIPAM: true } },
            ["controller", "webhook"],
        ],
    ])("of programs that are needed: %j", async (values, names) => {
        const lines = await helmReports(values);
        expect(lines.map((line) => line.split(": ")[0])).toEqual(names.map((name) => `${name}.replicas`));
    });

    // All of these listen in the network of the Node, and one that finds its port taken ends.
    it.each<[Values, readonly string[]]>([
        [{}, []],
        [
            { "agent.probePort": 10_350 },
            ["agent.probePort: 10350: must differ from agent.apiPort: both are of the Node"],
        ],
        [
            { "agent.apiPort": 10_349 },
            ["controller.apiPort: 10349: must differ from agent.apiPort: both are of the Node"],
        ],
        [
            { "agent.apiPort": 10_250, "webhook.probePort": 10_248 },
            [
                "agent.apiPort: 10250: must not be a port of the Node's kubelet, 10248 or 10250",
                "webhook.probePort: 10248: must not be a port of the Node's kubelet, 10248 or 10250",
            ],
        ],
        [
            { "webhook.port": 10_353, "webhook.probePort": 10_349 },
            [
                "webhook.port: 10353: must differ from agent.probePort: both are of the Node",
                "webhook.probePort: 10349: must differ from controller.apiPort: both are of the Node",
            ],
        ],
        [{ tunnelPort: 10_350 }, []],
    ])("of ports that two programs would have on a Node: %j", async (values, reported) => {
        expect(await helmReports(values)).toEqual(reported);
    });
});
