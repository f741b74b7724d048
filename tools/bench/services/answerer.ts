// Answers connections to all addresses of the endpoints with the address that was connected to.
import { createServer } from "node:net";
import { serveBench } from "../helper.ts";

async function listen({ port }: { readonly port: number }): Promise<void> {
    const server = createServer((client) => {
        client.on("error", () => undefined); // the client was gone first
        client.end(client.localAddress ?? "");
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    server.listen({ port, host: "0.0.0.0", backlog: 4_096 }, resolve);
    await promise;
}

serveBench({ listen });
