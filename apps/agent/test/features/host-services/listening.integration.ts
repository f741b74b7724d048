import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { readListeningPorts } from "../../../src/features/host-services/listening.ts";

async function listen(host: string): Promise<Server> {
    const server = createServer().listen(0, host);
    await once(server, "listening");
    return server;
}

function portOf(server: { address(): AddressInfo | string | null }): number {
    return (server.address() as AddressInfo).port;
}

it.each(["127.0.0.1", "::1"])("programs are found at %s among many, and connections are none", async (host) => {
    // more than the kernel gives in one read
    const servers = await Promise.all(Array.from({ length: 100 }, () => listen(host)));
    const clients: Socket[] = [];
    for (const server of servers) {
        const client = connect(portOf(server), host);
        clients.push(client);
        await once(client, "connect");
    }
    const udp = createSocket(host === "::1" ? "udp6" : "udp4");
    await new Promise<void>((resolve) => void udp.bind(0, host, resolve));
    const ip = parseIp(host);
    const tcpPorts = servers.map(portOf);
    try {
        const ports = await readListeningPorts();
        expect(tcpPorts.filter((port) => !ports.has([ip], "TCP", port))).toEqual([]);
        expect(clients.filter(({ localPort = 0 }) => ports.has([ip], "TCP", localPort))).toEqual([]);
        expect([ports.has([ip], "UDP", portOf(udp)), ports.has([ip], "TCP", 1)]).toEqual([true, false]);
        for (const client of clients) client.destroy();
        await Promise.all(servers.map((server) => once(server.close(), "close")));
        const later = await readListeningPorts();
        expect(tcpPorts.filter((port) => later.has([ip], "TCP", port))).toEqual([]);
    } finally {
        udp.close();
        for (const client of clients) client.destroy();
        for (const server of servers) server.close();
    }
});
