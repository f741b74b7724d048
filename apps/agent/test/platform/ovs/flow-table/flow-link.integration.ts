import { afterAll, beforeAll, describe } from "@jest/globals";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { PrivateOvs } from "@antrea/openflow/testing";
import { silentLogger } from "../../../support/logger.ts";
import { flowLinkCompliance } from "./flow-link-compliance.ts";

const bridge = PrivateOvs.deviceName("brf");
let ovs: PrivateOvs;
let connection: OpenFlowConnection;

beforeAll(async () => {
    ovs = await PrivateOvs.start({ network: "own" });
    await ovs.addBridge(bridge);
    connection = new OpenFlowConnection({ logger: silentLogger }, { socketPath: ovs.mgmtSocket(bridge) });
    connection.start(new AbortController().signal);
    await connection.barrier();
});

afterAll(async () => {
    await connection?.close();
    await ovs?.[Symbol.asyncDispose]();
});

describe("Open vSwitch", () => {
    flowLinkCompliance(async () => {
        await ovs.ofctl("del-flows", bridge);
        await ovs.ofctl("del-groups", bridge);
        return connection;
    });
});
