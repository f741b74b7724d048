import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { flowBodyKey, flowKey, type Flow } from "@antrea/openflow";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { PrivateOvs } from "@antrea/openflow/testing";
import { Category, cookieOf, rejectMeter, servicePortFlows, withCookies, type FlowSet } from "../src/index.ts";
import {
    exampleBridgedPeer,
    exampleBridgedPod,
    exampleBridgingNode,
    examplePeer,
    examplePod,
    exampleTunnelNode,
    exampleVlan,
    bridgedPeerFlows,
    pipelineFlows,
    pipelineOf,
    podFlows,
    tunnelPeerFlows,
    vlanFlows,
} from "./examples.ts";
import { groupSection } from "./golden-file.ts";
import { endpoint, portFlows, portInput, servedPort, serviceNode } from "./service-examples.ts";

const ignore = (): void => undefined;
const keys = (flows: readonly Flow[]): string[] => flows.map((flow) => `${flowKey(flow)} ${flowBodyKey(flow)}`).sort();

// The agent compares what it wants with what the switch reports: a flow that came back in another form would be sent
// again and again.
describe("flows by OpenFlow", () => {
    let ovs: PrivateOvs;
    let connection: OpenFlowConnection;

    beforeAll(async () => {
        ovs = await PrivateOvs.start({ network: "own" });
        const bridge = PrivateOvs.deviceName("wire");
        await ovs.addBridge(bridge);
        const logger = { debug: ignore, info: ignore, warn: ignore };
        connection = new OpenFlowConnection({ logger }, { socketPath: ovs.mgmtSocket(bridge) });
        connection.start(new AbortController().signal);
    });

    afterAll(async () => {
        await connection.close();
        await ovs[Symbol.asyncDispose]();
    });

    beforeEach(() => connection.bundle([{ command: "delete", flow: { match: {} } }]));

    it.each<[name: string, sets: readonly FlowSet[]]>([
        ["with tunnels", [pipelineFlows(exampleTunnelNode()), podFlows(examplePod(1)), tunnelPeerFlows(examplePeer())]],
        [
            "in bridging mode",
            [
                pipelineFlows(exampleBridgingNode()),
                podFlows(examplePod(1)),
                podFlows(exampleBridgedPod(3, 0)),
                podFlows(exampleBridgedPod(5, 2)),
                vlanFlows(exampleVlan(0, 3)),
                vlanFlows(exampleVlan(2, 5)),
                bridgedPeerFlows(exampleBridgedPeer()),
            ],
        ],
    ])("come back from the switch as they were sent: %s", async (_name, sets) => {
        const flows = sets.flatMap((set) => withCookies(set, 1, 7));
        await connection.bundle(flows.map((flow) => ({ command: "add", flow })));
        const present = await connection.dumpFlows();
        expect(keys(present)).toEqual(keys(flows));
        const others = ({ cookie = 0n }: Flow): boolean => cookieOf(cookie).category === Category.nodeConnectivity;
        expect(keys(present.filter(others))).toEqual(keys(flows.filter(others)));
    });

    it("of Services, with their groups", async () => {
        await connection.changeMeter({ command: "add", meter: rejectMeter });
        const node = serviceNode("encap", true);
        const endpoints = [endpoint("10.10.0.3"), endpoint("10.10.1.5")];
        const { groups, flows } = servicePortFlows(
            pipelineOf(node),
            portInput(node, 1, servedPort("10.96.0.10", endpoints), { affinitySeconds: 100, salt: 7n }),
        );
        const { groups: plain } = portFlows(node, 2, servedPort("10.96.0.11", endpoints));
        const sent = [...pipelineFlows(node).flows, ...flows.flows];
        await connection.bundle([
            ...[...groups, ...plain].map((group) => ({ command: "add" as const, group })),
            ...sent.map((flow) => ({ command: "add" as const, flow })),
        ]);
        expect(keys(await connection.dumpFlows())).toEqual(keys(sent));
        const present = (await connection.dumpGroups()).toSorted((a, b) => a.id - b.id);
        expect(groupSection("groups", present)).toBe(groupSection("groups", [...groups, ...plain]));
    });
});
