import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { join } from "node:path";
import { Client, credentials } from "@grpc/grpc-js";
import { cniServiceDefinition, type CniCmdArgs, type CniCmdResponse, type CniMethodName } from "@antrea/cni";
import { CniServer } from "../../../src/features/cni-server/index.ts";
import { TestNode, type TestAgent } from "../../support/test-node.ts";
import { ipsOf, TestPod, type AddAnswer } from "../../support/test-pod.ts";

let node: TestNode;
let agent: TestAgent;
let server: CniServer;
let client: Client;

beforeAll(async () => {
    node = await TestNode.start();
    agent = await node.startAgent();
    const socketPath = join(node.ovs.runDir, "cni.sock");
    server = new CniServer({ calls: agent.calls }, { socketPath });
    await server.start();
    client = new Client(`unix:${socketPath}`, credentials.createInsecure());
});

afterAll(async () => {
    client?.close();
    await server?.stop();
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
});

interface Call {
    readonly answer: Promise<CniCmdResponse>;
    cancel(): void;
}

function begin(method: CniMethodName, cniArgs: CniCmdArgs): Call {
    const { path, requestSerialize, responseDeserialize } = cniServiceDefinition[method];
    const done = Promise.withResolvers<CniCmdResponse>();
    const call = client.makeUnaryRequest(
        path,
        (request) => Buffer.from(requestSerialize(request)),
        responseDeserialize,
        { cniArgs },
        (error, response) => {
            if (error !== null) done.reject(error);
            else if (response !== undefined) done.resolve(response);
        },
    );
    return { answer: done.promise, cancel: () => call.cancel() };
}

function call(method: CniMethodName, cniArgs: CniCmdArgs): Promise<CniCmdResponse> {
    return begin(method, cniArgs).answer;
}

it("the life of a Pod over the socket", async () => {
    using pod = new TestPod();
    const added = await call("CmdAdd", pod.args());
    expect(added.error).toBeUndefined();
    const answer = JSON.parse(new TextDecoder().decode(added.cniResult)) as AddAnswer;
    expect(await pod.ping(answer.ips[0]?.gateway ?? "")).toBe(1);
    expect(ipsOf(answer)).toHaveLength(2);
    const empty = { cniResult: new Uint8Array() };
    expect(await call("CmdCheck", pod.args({ prevResult: answer }))).toMatchObject(empty);
    expect(await call("CmdStatus", pod.args())).toMatchObject(empty);
    const list = [{ containerID: pod.containerId, ifname: "eth0" }];
    expect(await call("CmdGc", pod.args({ "cni.dev/valid-attachments": list }))).toMatchObject(empty);
    expect(agent.used).toEqual([1, 1]);
    expect(await call("CmdDel", pod.args({ prevResult: answer }))).toMatchObject(empty);
    expect(agent.used).toEqual([0, 0]);
});

it("an error is an answer with a code, not a failure of the call", async () => {
    using pod = new TestPod();
    const { cniResult, error } = await call("CmdCheck", pod.args());
    expect(cniResult).toHaveLength(0);
    expect(error).toMatchObject({ code: 103, message: expect.stringContaining("has no interface eth0") });
    expect((await call("CmdAdd", pod.args({ cniVersion: "7.0.0" }))).error).toMatchObject({ code: 1 });
});

it("a caller that goes away leaves nothing behind", async () => {
    using pod = new TestPod();
    const before = await node.state();
    const hold = agent.hold("flows done");
    const adding = begin("CmdAdd", pod.args());
    const ended = expect(adding.answer).rejects.toMatchObject({ code: 1 });
    await hold.reached;
    adding.cancel();
    await ended;
    // A round trip on the same connection: the cancellation was sent before, so the agent has it.
    await call("CmdStatus", pod.args());
    hold.release();
    await agent.network.exclusively(pod.containerId, () => Promise.resolve());
    expect(await node.state()).toEqual(before);
    expect(agent.used).toEqual([0, 0]);
});

it("thirty callers at once", async () => {
    const pods = Array.from({ length: 30 }, (_, index) => new TestPod(`pod-${index}`));
    try {
        const answers = await Promise.all(pods.map((pod) => call("CmdAdd", pod.args())));
        expect(answers.filter(({ error }) => error !== undefined)).toEqual([]);
        expect(agent.used).toEqual([30, 30]);
        await Promise.all(pods.map((pod) => call("CmdDel", pod.args())));
        expect(agent.used).toEqual([0, 0]);
    } finally {
        for (const pod of pods) pod[Symbol.dispose]();
    }
});
