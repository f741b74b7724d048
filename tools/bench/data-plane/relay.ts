// Listens on 127.0.0.1 of the network namespace it runs in and forwards to a unix socket, which all namespaces share.
import { connect, createServer } from "node:net";
import { serveBench } from "../helper.ts";
import { joinSockets } from "../join-sockets.ts";

async function listen({ port, socketPath }: { readonly port: number; readonly socketPath: string }): Promise<void> {
    const server = createServer((client) => joinSockets(client, connect(socketPath)));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
    await promise;
}

serveBench({ listen });
