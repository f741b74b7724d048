import { beforeEach, describe, expect, it } from "@jest/globals";
import { learnedCookie, Table } from "@antrea/flows";
import { parseIp, type IpAddress } from "@antrea/ip";
import { OpenFlowError, type BundleMod, type FlowStats, type Match } from "@antrea/openflow";
import { type ServedPort, type ServedService } from "@antrea/services";
import { LearnedFlows, type LearnedFlowsComponents } from "../../../src/features/services/learned-flows.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { endpointsAt, portAt, serviceWith } from "./examples.ts";

const { signal } = new AbortController();
const endpoints = endpointsAt("10.10.1.2", "10.10.1.3");
const http = portAt("10.96.0.1", endpoints, { name: "http" });
const https = portAt("10.96.0.1", endpoints, { name: "https", port: 443 });
const sticky = (more: Partial<ServedService> = {}): ServedService =>
    serviceWith([http, https], { affinitySeconds: 60, ...more });

let sent: BundleMod[];
let logged: LogEntry[];
let failure: Error | undefined;
let inOvs: FlowStats[];
let learned: LearnedFlows;

beforeEach(() => {
    [sent, logged, failure, inOvs] = [[], [], undefined, []];
    const bundle = (mods: readonly BundleMod[]): Promise<void> => {
        sent.push(...mods);
        return failure === undefined ? Promise.resolve() : Promise.reject(failure);
    };
    const dumpFlows: LearnedFlowsComponents["openflow"]["dumpFlows"] = (filter) => {
        expect(filter).toEqual({ table: 44, cookie: 3n << 40n, cookieMask: 0xffff_ff00_0000_0000n });
        return Promise.resolve(inOvs);
    };
    learned = new LearnedFlows({
        openflow: { bundle, dumpFlows },
        logger: listLogger(logged),
        proxyAll: true,
        keepsFragments: true,
    });
});

const change = (
    after: ServedService | undefined,
    standIns: readonly (readonly [string, IpAddress])[] = [],
): Promise<void> => learned.changed("default/web", after, new Map(standIns), signal);

const deletion = (name: string, match: Match): BundleMod => ({
    command: "delete",
    flow: { table: Table.SessionAffinity, match, cookie: learnedCookie("uid-web", name, 4) },
    cookieMask: 0xffff_ffff_ffff_ffffn,
});

describe("learned flows", () => {
    it.each<[string, ServedService | undefined, ServedService | undefined, readonly string[]]>([
        ["a Service that is gone", sticky(), undefined, ["http", "https"]],
        ["a port that is gone", sticky(), sticky({ ports: [https] }), ["http"]],
        ["affinity that is off", sticky(), sticky({ affinitySeconds: undefined }), ["http", "https"]],
        ["another timeout", sticky(), sticky({ affinitySeconds: 61 }), ["http", "https"]],
        ["a Service that was made anew", sticky(), sticky({ uid: "uid-2" }), ["http", "https"]],
        ["nothing", sticky(), sticky(), []],
        ["affinity that is on now", serviceWith([http]), sticky(), []],
        ["a Service without affinity", serviceWith([http]), undefined, []],
        ["a new Service", undefined, sticky(), []],
    ])("of %s are deleted", async (_name, before, after, names) => {
        await change(before);
        expect(sent).toEqual([]);
        await change(after);
        expect(sent).toEqual(names.map((name) => deletion(name, {})));
    });

    it("that cannot be deleted are logged, and do not keep the change from being made", async () => {
        failure = new OpenFlowError("DISCONNECTED", "environment", "away");
        await change(sticky());
        await change(undefined);
        expect(logged).toMatchObject([{ level: "debug", fields: { service: "default/web", reason: "away" } }]);
    });

    const [ipv4, vip] = [{ eth_type: 0x0800 }, 0x0a60_0001n];
    const external = { kind: "external", ip: parseIp("192.0.2.1"), inside: "cluster", outside: "cluster" } as const;
    const tcp = { ...ipv4, ip_proto: 6 };

    it.each<[string, Partial<ServedPort>, Partial<ServedPort>, readonly Match[]]>([
        ["another port", {}, { port: 81 }, [{ ...tcp, tcp_dst: 80, ipv4_dst: vip }]],
        ["another NodePort", nodePort(30_080), nodePort(30_081), [{ ...tcp, tcp_dst: 30_080 }]],
        [
            "no external address",
            { addresses: [...http.addresses, external] },
            {},
            [{ ...tcp, tcp_dst: 80, ipv4_dst: 0xc000_0201n }],
        ],
        ["one more address", {}, { addresses: [...http.addresses, external] }, []],
        [
            "another port of UDP, whose later fragments have none",
            { protocol: "UDP" },
            { protocol: "UDP", port: 81 },
            [{ ...ipv4, reg9: { value: 80, mask: 0xffff }, ipv4_dst: vip }],
        ],
    ])("of a Service with %s are deleted where it is served no more", async (_name, before, after, matches) => {
        await change(sticky({ ports: [{ ...http, ...before }, https] }));
        await change(sticky({ ports: [{ ...http, ...after }, https] }));
        expect(sent).toEqual(matches.map((match) => deletion("http", match)));
    });

    it("at a stand-in are deleted when the address has none any more", async () => {
        const service = sticky({ ports: [{ ...http, addresses: [external] }] });
        await change(service, [["192.0.2.1", parseIp("169.254.0.128")]]);
        await change(service);
        expect(sent).toEqual([deletion("http", { ...tcp, tcp_dst: 80, ipv4_dst: 0xa9fe_0080n })]);
    });

    it("are deleted after a start but for those that OVS would learn again as they are", async () => {
        const flow = (match: Match, more: Partial<FlowStats> = {}): FlowStats => ({
            table: Table.SessionAffinity,
            priority: 200,
            match: { ...tcp, ipv4_src: 0x0a0a_0102n, ipv4_dst: vip, ...match },
            actions: [],
            cookie: learnedCookie("uid-web", "http", 4),
            idleTimeout: 60,
            packets: 0n,
            bytes: 0n,
            durationSeconds: 1,
            ...more,
        });
        const kept = [flow({ tcp_dst: 80 }), flow({ tcp_dst: 30_080, ipv4_dst: 0xc000_0201n })];
        const stale = [
            flow({ tcp_dst: 80 }, { idleTimeout: 61 }),
            flow({ tcp_dst: 80, ipv4_dst: 0xc000_0201n }),
            flow({ tcp_dst: 81 }),
            flow({ tcp_dst: 80 }, { cookie: learnedCookie("uid-gone", "http", 4) }),
        ];
        inOvs = [...kept, ...stale];
        await change(sticky({ ports: [{ ...http, ...nodePort(30_080) }] }));
        await learned.deleteOthers(signal);
        expect(sent).toMatchObject(
            stale.map(({ match, cookie }) => ({ command: "delete_strict", flow: { priority: 200, match, cookie } })),
        );
        failure = new OpenFlowError("DISCONNECTED", "environment", "away");
        await expect(learned.deleteOthers(signal)).rejects.toBe(failure);
    });
});

function nodePort(port: number): Partial<ServedPort> {
    return { nodePort: { port, inside: "cluster", outside: "cluster" } };
}
