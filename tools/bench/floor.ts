// The lower bound of wiring a Pod: the netlink and OVSDB steps of the agent in sequence, without records, flows, locks,
// gRPC or checks. A separate process that measures itself, so that no messages are included.
import { insert, map, mutate, named, optionalNumberOf, remove, byUuid, set, uuid } from "@antrea/ovsdb";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { parseIp } from "@antrea/ip";
import { Netlink } from "@antrea/netlink";
import { serveBench } from "./helper.ts";

const bridgeName = "br-floor";
const firstOfPort = 32784;
/** ovs-vswitchd takes more than half a minute for the end of two thousand ports. */
const settleLimitMs = 300_000;
const silent = { debug: (): void => undefined, info: (): void => undefined, warn: (): void => undefined };
const netlink = Netlink.open();
let session: OvsdbSession | undefined;

function database(): OvsdbSession {
    return session as OvsdbSession; // "open" comes first
}

function uuidOf(table: string, name: string): string {
    for (const [id, row] of database().rows(table)) if (row["name"] === name) return id;
    return "";
}

async function open({ socketPath }: { readonly socketPath: string }): Promise<void> {
    session = new OvsdbSession(
        { logger: silent },
        {
            socketPath,
            monitor: {
                Open_vSwitch: ["cur_cfg", "next_cfg"],
                Bridge: ["name", "datapath_id"],
                Port: ["name", "interfaces"],
                Interface: ["name", "ofport"],
            },
        },
    );
    session.start(new AbortController().signal);
    await session.ready();
    await session.transact([
        insert("Interface", { name: bridgeName, type: "internal" }, "interface"),
        insert("Port", { name: bridgeName, interfaces: set(named("interface")) }, "port"),
        insert(
            "Bridge",
            { name: bridgeName, datapath_type: "netdev", fail_mode: set("secure"), ports: set(named("port")) },
            "bridge",
        ),
        mutate("Open_vSwitch", [], [["bridges", "insert", set(named("bridge"))]]),
    ]);
    await settle();
}

/** Waits until ovs-vswitchd has applied all changes (next_cfg and cur_cfg, ovs-vswitchd.conf.db(5)). */
async function settle(): Promise<void> {
    await database().transact([mutate("Open_vSwitch", [], [["next_cfg", "+=", 1]])]);
    await database().until(
        () => {
            const [row] = database().rows("Open_vSwitch").values();
            return row !== undefined && Number(row["cur_cfg"]) >= Number(row["next_cfg"]) ? true : undefined;
        },
        { timeoutMs: settleLimitMs },
    );
}

/** Wires a Pod; returns the milliseconds. */
async function add({ index, netns }: { readonly index: number; readonly netns: string }): Promise<number> {
    const begin = performance.now();
    const name = `floor-${index}`;
    const host = (index % 200) + 2;
    const mac = `0a:58:0a:c8:00:${host.toString(16).padStart(2, "0")}`;
    const addresses = [
        { ip: parseIp(`10.200.0.${host}`), prefixLength: 24, gateway: parseIp("10.200.0.1") },
        { ip: parseIp(`fd00:200::${host.toString(16)}`), prefixLength: 64, gateway: parseIp("fd00:200::1") },
    ];
    await netlink.createVeth({
        name,
        mac: `0e${mac.slice(2)}`,
        mtu: 1500,
        alias: `floor ${index}`,
        up: true,
        peer: { name: "eth0", mac, mtu: 1500, netnsPath: netns },
    });
    const committed = database().transact([
        insert("Interface", { name, type: "", ofport_request: set(firstOfPort + index) }, "interface"),
        insert(
            "Port",
            { name, interfaces: set(named("interface")), external_ids: map({ floor: String(index), "net-ns": netns }) },
            "port",
        ),
        mutate("Bridge", [byUuid(uuidOf("Bridge", bridgeName))], [["ports", "insert", set(named("port"))]]),
    ]);
    {
        using pod = Netlink.openIn(netns);
        const link = (await pod.link("eth0"))?.index ?? 0;
        await pod.batch((batch) => {
            batch.setLink(link, { up: true });
            for (const { ip, prefixLength } of addresses)
                batch.addAddress({ index: link, ip, prefixLength, noDad: true });
            for (const { gateway } of addresses) {
                batch.replaceRoute({ dst: "default", family: gateway.family, via: gateway, dev: link });
            }
        });
    }
    await committed;
    await database().until(
        () => {
            const row = database().rows("Interface").get(uuidOf("Interface", name));
            return row && optionalNumberOf(row, "ofport");
        },
        { timeoutMs: 30_000 },
    );
    return performance.now() - begin;
}

/** Removes the port; the veth pair is removed with its namespace. */
async function del({ index }: { readonly index: number }): Promise<number> {
    const begin = performance.now();
    const name = `floor-${index}`;
    const port = uuidOf("Port", name);
    await database().transact([
        mutate("Bridge", [byUuid(uuidOf("Bridge", bridgeName))], [["ports", "delete", set(uuid(port))]]),
        remove("Port", [byUuid(port)]),
        remove("Interface", [byUuid(uuidOf("Interface", name))]),
    ]);
    return performance.now() - begin;
}

/** Names of the ports that `links` made. */
let made: readonly string[] = [];

/**
 * Makes so many links and ports for each namespace, one namespace after another, the ports of each in one transaction, and
 * waits until ovs-vswitchd has opened all; returns the milliseconds.
 */
async function links({ netns, count }: { readonly netns: readonly string[]; readonly count: number }): Promise<number> {
    const begin = performance.now();
    const bridge = uuidOf("Bridge", bridgeName);
    const commits: Promise<unknown>[] = [];
    for (const [pod, netnsPath] of netns.entries()) {
        const names = Array.from({ length: count }, (_, at) => `floor-${pod}-${at}`);
        for (const [at, name] of names.entries()) {
            const end = `${pod.toString(16).padStart(2, "0")}:${at.toString(16).padStart(2, "0")}`;
            const peer = { name: `eth${at}`, mac: `0a:58:0a:c9:${end}`, mtu: 1500, netnsPath };
            await netlink.createVeth({ name, mac: `0e:58:0a:c9:${end}`, mtu: 1500, up: true, queues: 1, peer });
        }
        commits.push(
            database().transact([
                ...names.flatMap((name, at) => [
                    insert("Interface", { name, type: "" }, `interface_${at}`),
                    insert("Port", { name, interfaces: set(named(`interface_${at}`)) }, `port_${at}`),
                ]),
                mutate(
                    "Bridge",
                    [byUuid(bridge)],
                    [["ports", "insert", set(...names.map((_, at) => named(`port_${at}`)))]],
                ),
            ]),
        );
        made = [...made, ...names];
    }
    await Promise.all(commits);
    const wanted = new Set(made);
    await database().until(
        () => {
            const rows = [...database().rows("Interface").values()];
            const opened = rows.filter((row) => wanted.has(String(row["name"])) && optionalNumberOf(row, "ofport"));
            return opened.length === wanted.size ? true : undefined;
        },
        { timeoutMs: settleLimitMs },
    );
    return performance.now() - begin;
}

/** Removes the ports that `links` made. */
async function unlink(): Promise<void> {
    const ports = made.map((name) => uuid(uuidOf("Port", name)));
    made = [];
    // What nothing refers to is deleted by ovsdb-server.
    await database().transact([
        mutate("Bridge", [byUuid(uuidOf("Bridge", bridgeName))], [["ports", "delete", set(...ports)]]),
    ]);
}

serveBench({ open, settle, add, del, links, unlink });
