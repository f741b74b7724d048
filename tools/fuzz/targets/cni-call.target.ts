import {
    CniCallError,
    CniMessageError,
    decodeCniCmdRequest,
    decodeCniCmdResponse,
    encodeCniCmdRequest,
    encodeCniCmdResponse,
    toCniError,
} from "@antrea/cni";
import { CniCalls, type CniCommand } from "@antrea/agent/features/cni-server";
import { FakeBackend } from "@antrea/agent/testing/cni-backend";
import { json, silentLogger } from "../fixture.ts";
import { mustEqual, type Target } from "../target.ts";

const commands: readonly CniCommand[] = ["add", "del", "check", "gc", "status"];
const config = { cniVersion: "1.1.0", name: "antrea", type: "antrea" };
const request = (command: number, networkConfiguration: object): Uint8Array => {
    const message = encodeCniCmdRequest({
        cniArgs: {
            containerId: "a1b2",
            netns: "/run/netns/x",
            ifname: "eth0",
            args: "K8S_POD_NAMESPACE=ns;K8S_POD_NAME=web-0;K8S_POD_UID=1",
            path: "/opt/cni/bin",
            networkConfiguration: new TextEncoder().encode(json(networkConfiguration)),
        },
    });
    return Uint8Array.from([command, ...message]);
};

/** A request of the CNI service in the agent, from its protobuf bytes to those of its answer. */
export const target: Target = {
    seeds: () => [
        ...commands.map((_, command) => request(command, config)),
        request(2, { ...config, prevResult: { cniVersion: "1.1.0", ips: [{ address: "10.0.0.2/24" }] } }),
        request(3, { ...config, "cni.dev/valid-attachments": [{ containerID: "a1", ifname: "eth0" }] }),
    ],
    tokens: ["K8S_POD_NAME=", "/run/netns/", '"cniVersion":"', '"prevResult":', "cni.dev/valid-attachments"],
    run: async (input) => {
        const { cniArgs } = decodeCniCmdRequest(input.subarray(1));
        mustEqual("a request written and read again", decodeCniCmdRequest(encodeCniCmdRequest({ cniArgs })), {
            cniArgs,
        });
        const calls = new CniCalls({
            backend: new FakeBackend(),
            logger: silentLogger,
            observe: () => undefined,
            now: () => 0,
        });
        const command = commands[(input[0] ?? 0) % commands.length] ?? "status";
        let response;
        try {
            response = { cniResult: await calls.call(command, cniArgs, new AbortController().signal) };
        } catch (error) {
            if (!(error instanceof CniCallError) || error.fault === "internal") throw error;
            response = { cniResult: new Uint8Array(), error: toCniError(error) };
        }
        const back = decodeCniCmdResponse(encodeCniCmdResponse(response));
        mustEqual("an answer written and read again", back.error, response.error);
    },
    isRefusal: (error) => error instanceof CniMessageError && error.fault === "remote",
};
