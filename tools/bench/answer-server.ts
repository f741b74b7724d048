// An agent that answers every ADD and DEL immediately, an ADD with the same result, so that only the shim is measured.
import {
    Server,
    ServerCredentials,
    type sendUnaryData,
    type ServerUnaryCall,
    type ServiceDefinition,
} from "@grpc/grpc-js";
import { cniServiceDefinition, type CniCmdRequest, type CniCmdResponse } from "@antrea/cni";
import { serveBench } from "./helper.ts";

const result = {
    cniVersion: "1.1.0",
    interfaces: [
        { name: "server-1a2b3c" },
        { name: "eth0", mac: "0a:58:0a:0a:00:05", sandbox: "/var/run/netns/bench" },
    ],
    ips: [
        { address: "10.10.0.5/24", gateway: "10.10.0.1", interface: 1 },
        { address: "fd00:10:0:1::5/64", gateway: "fd00:10:0:1::1", interface: 1 },
    ],
    routes: [
        { dst: "0.0.0.0/0", gw: "10.10.0.1" },
        { dst: "::/0", gw: "fd00:10:0:1::1" },
    ],
    dns: {},
};
const empty: CniCmdResponse = { cniResult: new Uint8Array() };
const answer: CniCmdResponse = { cniResult: new TextEncoder().encode(JSON.stringify(result)) };

function served(name: "CmdAdd" | "CmdDel"): ServiceDefinition[string] {
    const method = cniServiceDefinition[name];
    return {
        ...method,
        requestSerialize: (request: CniCmdRequest) => Buffer.from(method.requestSerialize(request)),
        responseSerialize: (response: CniCmdResponse) => Buffer.from(method.responseSerialize(response)),
    };
}

async function open({ socketPath }: { readonly socketPath: string }): Promise<string> {
    const server = new Server();
    server.addService(
        { CmdAdd: served("CmdAdd"), CmdDel: served("CmdDel") },
        {
            CmdAdd: (_call: ServerUnaryCall<CniCmdRequest, CniCmdResponse>, done: sendUnaryData<CniCmdResponse>) =>
                done(null, answer),
            CmdDel: (_call: ServerUnaryCall<CniCmdRequest, CniCmdResponse>, done: sendUnaryData<CniCmdResponse>) =>
                done(null, empty),
        },
    );
    await new Promise<void>((resolve, reject) => {
        server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) =>
            error === null ? resolve() : reject(error),
        );
    });
    return JSON.stringify(result);
}

serveBench({ open });
