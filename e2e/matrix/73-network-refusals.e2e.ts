import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { apply, scaleTo, shellOnNode, systemNamespace, workers } from "../fixture/cluster.ts";
import { eventNote, eventsAbout } from "../fixture/ipam.ts";
import { callPlugin, installMetaPlugin, sandboxOf } from "../fixture/meta-plugin.ts";
import { beforeNetworks, portsOf, ReleaseBefore } from "../fixture/network-stage.ts";
import {
    bridgeCondition,
    bridgeNics,
    linksOf,
    looseLinks,
    NetworkDefinitions,
    requesting,
} from "../fixture/networks.ts";
import { getJson } from "../fixture/objects.ts";
import { manifest, TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { notAttached } from "../fixture/vlan-refusals.ts";
import { rolledOut } from "../fixture/workloads.ts";

// What is refused for what the Nodes, the release or the cluster lack: no NIC can be used, the kubelet has no pod-resources
// socket in the folder that the chart names, and the feature gate AntreaIPAM is off.

const [first = ""] = workers;
const space = "e2e-refusals";
const resource = { "k8s.v1.cni.cncf.io/resourceName": "e2e.antrea.io/any" };
/** Of the first worker: it belongs to a bridge of the kernel. */
const [taken, master] = ["e2e-taken", "e2e-master"] as const;
const ipam = { type: "antrea", ippools: ["e2e-refusals"] };
/** Nobody has it. */
const router = "10.79.0.1";

let stack: AsyncDisposableStack;
let namespace: TestNamespace;

beforeAll(async () => {
    stack = new AsyncDisposableStack();
    await beforeNetworks();
    await installMetaPlugin();
    const remove = `ip link delete ${taken} 2> /dev/null; ip link delete ${master} 2> /dev/null; true`;
    await shellOnNode(first, remove);
    stack.defer(async () => void (await shellOnNode(first, remove)));
    await shellOnNode(
        first,
        [
            `ip link add ${taken} type veth peer name ${taken}-far`,
            `ip link add ${master} type bridge`,
            `ip link set ${taken} master ${master}`,
            `ip link set ${taken}-far up`,
        ].join(" && "),
    );
    stack.use(await ReleaseBefore.remember());
    const values = ["agent.podResourcesPath=/var/lib/e2e-no-pod-resources", "featureGates.AntreaIPAM=false"];
    await bridgeNics([taken, "lo"], { values });
    namespace = stack.use(await TestNamespace.create(space));
});
afterAll(() => stack.disposeAsync());

it("NICs that another has or that are none: the Node's condition names each, with the next step", async () => {
    const condition = await eventually("the first Node reports", () => bridgeCondition(first));
    expect(condition).toMatchObject({
        status: "False",
        reason: "NICTaken",
        message: `${taken} belongs to ${master}; take it out, or name ${master}; lo is no Ethernet link; name another NIC; no NIC of the bridge is connected`,
    });
    expect((await portsOf(first)).map(({ name }) => name)).toEqual([]);
});

it("a Pod without the CustomResourceDefinition of networks has an event with the next step", async () => {
    await apply(manifest(space, { name: "no-crd", node: first, annotations: requesting("nowhere") }));
    expect(await eventNote(space, "Pod", "no-crd", notAttached)).toMatch(
        /^network e2e-refusals\/nowhere: there is no NetworkAttachmentDefinition of this name, or the CustomResourceDefinition of these \(k8s\.cni\.cncf\.io\/v1\) is not installed; next: create it, /,
    );
});

describe("a Pod is refused", () => {
    const networks = {
        wired: { vlan: 100 },
        function: { networkType: "sriov" },
        "no-resource": { networkType: "sriov" },
        "function-with-vlan": { networkType: "sriov", vlan: 100 },
    };
    const refusals: readonly (readonly [what: string, network: string, note: RegExp])[] = [
        [
            "where no NIC of the bridge is connected",
            "wired",
            /^network e2e-refusals\/wired: no NIC of br-sec is connected: e2e-taken belongs to e2e-master; take it out, or name e2e-master; lo is no /,
        ],
        [
            "where the kubelet has no pod-resources socket",
            "function",
            /^network e2e-refusals\/function: the devices of the Pod cannot be read from the kubelet's pod-resources API at .*; next: see whether the kubelet runs and has that socket, .*agent\.podResourcesPath/,
        ],
        [
            "on a network of virtual functions that names no resource",
            "no-resource",
            /^network e2e-refusals\/no-resource: annotation k8s\.v1\.cni\.cncf\.io\/resourceName: "" is missing; next: set the annotation /,
        ],
        [
            "on a network of virtual functions with a VLAN",
            "function-with-vlan",
            /^network e2e-refusals\/function-with-vlan: vlan: 100 has no effect in a network of type sriov; next: remove it/,
        ],
    ];

    beforeAll(async () => {
        const definitions = stack.use(await NetworkDefinitions.install());
        // It fails open: the agent refuses what it did not see.
        await scaleTo({ "antrea-webhook": 0 });
        try {
            const { "no-resource": without, wired, ...functions } = networks;
            await definitions.define(space, { wired, "no-resource": without });
            await definitions.define(space, functions, resource);
            await definitions.define(space, {
                pooled: { vlan: 100, ipam },
                static: { ipam: { type: "antrea", addresses: [{ address: "10.79.0.5/24" }] } },
            });
        } finally {
            await scaleTo({ "antrea-webhook": 2 });
            await rolledOut(systemNamespace, "deployment/antrea-webhook");
        }
        await apply(refusals.map(([, name]) => manifest(space, { name, node: first, annotations: requesting(name) })));
    });

    it.each(refusals)("%s: the Pod %s has one event, and nothing is left", async (_, name, note) => {
        expect(await eventNote(space, "Pod", name, notAttached)).toMatch(note);
        await eventually("it was tried twice", async () =>
            (await eventsAbout(space, "Pod", name, "FailedCreatePodSandBox")).length >= 2 ? true : undefined,
        );
        expect(await eventsAbout(space, "Pod", name, notAttached)).toHaveLength(1);
        // an attempt may be under way
        await eventually("nothing is left", async () => {
            expect((await looseLinks(first)).toSorted()).toEqual([taken, `${taken}-far`]);
            return true;
        });
    });

    it("until what is wrong is corrected: a NIC of the bridge is enough", async () => {
        await shellOnNode(first, `ip link set ${taken} nomaster`);
        await namespace.ready(["wired"]);
        expect(await linksOf(namespace, "wired")).toMatchObject({
            eth1: { isUp: true, hasCarrier: true, addresses: [] },
        });
        expect(await bridgeCondition(first)).toMatchObject({ reason: "NICUnsuitable" });
        expect((await portsOf(first)).map((port) => port.pod ?? port.name).sort()).toEqual(
            [taken, `${space}/wired`].sort(),
        );
    });
});

describe("while the feature gate AntreaIPAM is off", () => {
    it("a Pod on a network with IPPools is refused, with the next step", async () => {
        await apply(manifest(space, { name: "pooled", node: first, annotations: requesting("pooled") }));
        expect(await eventNote(space, "Pod", "pooled", notAttached)).toMatch(
            /^network e2e-refusals\/pooled: ipam\.ippools: e2e-refusals cannot be used, as the feature gate AntreaIPAM is off; next: install with /,
        );
    });

    it("a Pod's default route leads to a network with a static address, and Services are reached by the Pod network", async () => {
        const requested = [{ name: "static", "default-route": [router] }];
        await namespace.start([{ name: "routed", node: first, annotations: requesting(requested) }]);
        expect(await namespace.exec("routed", "ip -4 route show default")).toMatch(
            new RegExp(`^default via ${router} dev eth1[^\\n]*\\n$`),
        );
        const { spec } = await getJson<{ readonly spec: { readonly clusterIPs: readonly string[] } }>("service", {
            name: "kubernetes",
        });
        await namespace.exec("routed", `curl -sSk -m 5 -o /dev/null https://${spec.clusterIPs[0]}/version`);
    });

    it("addresses for an interface of another plugin are refused, with the next step; its DEL is not", async () => {
        const sandbox = await sandboxOf(space, "wired");
        const network = { cniVersion: "1.0.0", name: "e2e-gate-off", type: "macvlan", master: "eth0", ipam };
        const { code, msg } = await callPlugin("ADD", sandbox, network);
        expect([code, msg]).toEqual([
            2,
            'network e2e-gate-off: ipam.type: "antrea" is not served: the feature gate AntreaIPAM is off; next: install with featureGates.AntreaIPAM=true, or use another IPAM plugin in that network',
        ]);
        expect(await callPlugin("DEL", sandbox, network)).toEqual({});
    });
});
