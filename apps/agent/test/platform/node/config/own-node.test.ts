import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { orAborted } from "@antrea/async";
import { formatIp, formatPrefix, parseIp, parsePrefix } from "@antrea/ip";
import type { Address, Link } from "@antrea/netlink";
import { awaitOwnNode, followOwnNode, type NodeConfig } from "../../../../src/platform/node/config/index.ts";
import type { NodeObject } from "../../../../src/platform/node/node-object.ts";
import { listLogger, silentLogger, type LogEntry } from "../../../support/logger.ts";

const transport: Link = {
    name: "eth0",
    index: 2,
    type: 1,
    mac: "02:00:00:00:00:01",
    mtu: 1500,
    up: true,
    running: true,
    loopback: false,
    group: 0,
    altNames: [],
    promiscuous: false,
};
const config: NodeConfig = {
    name: "worker",
    podPrefixes: [parsePrefix("10.10.1.0/24"), parsePrefix("fd00:10::/64")],
    gatewayIps: [],
    transport,
};

function worker(podCIDRs: readonly string[]): NodeObject {
    return {
        metadata: { name: "worker" },
        spec: { podCIDRs },
        status: { addresses: [{ type: "InternalIP", address: "192.0.2.1" }] },
    };
}

/** The Nodes by the API server, with one that can change. */
class Nodes {
    hasSynced = true;
    #node: NodeObject | undefined;
    readonly #listeners: ((type: unknown, key: string) => void)[] = [];

    constructor(node: NodeObject | undefined) {
        this.#node = node;
    }

    /** As long as the API server does not answer. */
    static away(): Nodes {
        const nodes = new Nodes(undefined);
        nodes.hasSynced = false;
        return nodes;
    }

    synced(signal: AbortSignal): Promise<void> {
        return this.hasSynced ? Promise.resolve() : orAborted(new Promise(() => undefined), signal);
    }

    get(name: string): NodeObject | undefined {
        return name === "worker" ? this.#node : undefined;
    }

    set(node: NodeObject | undefined): void {
        this.#node = node;
        for (const listener of this.#listeners) listener("changed", "worker");
    }

    onChange(listener: (type: unknown, key: string) => void): void {
        this.#listeners.push(listener);
    }
}

describe("a start", () => {
    beforeEach(() => void jest.useFakeTimers());
    afterEach(() => void jest.useRealTimers());

    /** What a start takes in so many seconds, if anything. */
    async function taken(
        nodes: Nodes,
        remembered: NodeObject | undefined,
        seconds: number,
        { entries = [] as LogEntry[], kubeAPIServerOverride = undefined as string | undefined } = {},
    ): Promise<unknown> {
        const stop = new AbortController();
        let found: NodeConfig | undefined;
        const waiting = awaitOwnNode(
            {
                nodes,
                cachedNode: () => remembered,
                netlink: {
                    links: () => Promise.resolve([transport]),
                    addresses: () => Promise.resolve([{ index: 2, ip: parseIp("192.0.2.1") } as Address]),
                },
                logger: listLogger(entries),
            },
            {
                nodeName: "worker",
                config: {
                    hostGateway: "antrea-gw0",
                    kubeAPIServerOverride,
                    ovsBridge: "br-int",
                    transportInterface: "",
                    transportInterfaceCIDRs: [],
                },
            },
            stop.signal,
        ).then(
            (node) => (found = node),
            () => undefined,
        );
        await jest.advanceTimersByTimeAsync(seconds * 1000);
        stop.abort();
        await waiting;
        return found && [...found.podPrefixes.map(formatPrefix), ...found.gatewayIps.map(formatIp)];
    }

    it("takes the podCIDRs that the Node has, whatever is remembered", async () => {
        const nodes = new Nodes(worker(["10.10.1.0/24"]));
        expect(await taken(nodes, worker(["10.10.2.0/24"]), 0)).toEqual(["10.10.1.0/24", "10.10.1.1"]);
    });

    it("waits with a Node that never had any", async () => {
        expect(await taken(new Nodes(worker([])), undefined, 60)).toBeUndefined();
    });

    it.each([
        ["has none any more", worker([])],
        ["is not there", undefined],
    ])("takes the remembered ones for what is wired, ten seconds later, when the Node %s", async (_, node) => {
        const memory = worker(["10.10.2.0/24"]);
        expect(await taken(new Nodes(node), memory, 9)).toBeUndefined();
        expect(await taken(new Nodes(node), memory, 11)).toEqual(["10.10.2.0/24", "10.10.2.1"]);
    });

    it("takes the remembered ones three seconds later if the API server does not answer", async () => {
        const memory = worker(["10.10.2.0/24"]);
        expect(await taken(Nodes.away(), memory, 2.9)).toBeUndefined();
        expect(await taken(Nodes.away(), memory, 3.1)).toEqual(["10.10.2.0/24", "10.10.2.1"]);
    });

    it.each([
        [undefined, /kube-proxy.*set kubeAPIServerOverride/],
        ["https://192.0.2.9:6443", /reaches https:\/\/192\.0\.2\.9:6443 \(kubeAPIServerOverride\)$/],
    ])("reports what to do if the API server does not answer, with the override %s", async (override, words) => {
        const entries: LogEntry[] = [];
        const options = { entries, kubeAPIServerOverride: override };
        expect(await taken(Nodes.away(), undefined, 30, options)).toBeUndefined();
        expect(entries).toEqual([
            {
                level: "warn",
                message: "the API server does not answer",
                fields: { next: expect.stringMatching(words) },
            },
        ]);
    });

    it("gives the Node ten seconds to get its podCIDRs", async () => {
        const nodes = new Nodes(worker([]));
        setTimeout(() => nodes.set(worker(["10.10.1.0/24"])), 5_000);
        expect(await taken(nodes, worker(["10.10.2.0/24"]), 11)).toEqual(["10.10.1.0/24", "10.10.1.1"]);
    });
});

describe("after the start", () => {
    function follow(nodes: Nodes, goneAt?: number) {
        const reported: { problem: string | undefined; failures: unknown[] } = {
            problem: "not checked",
            failures: [],
        };
        const check = followOwnNode(
            {
                nodes,
                goneAt,
                readiness: {
                    met: () => (reported.problem = undefined),
                    unmet: (_, problem) => (reported.problem = problem),
                },
                fail: (error) => reported.failures.push(error),
                logger: silentLogger,
            },
            config,
        );
        return { reported, check };
    }

    const both = ["10.10.1.0/24", "fd00:10::/64"];

    it.each([
        ["the same", worker(both)],
        ["the same in other words", worker(["10.10.1.0/24", "FD00:10:0::/64"])],
    ])("podCIDRs that are %s change nothing", (_, object) => {
        const nodes = new Nodes(worker(both));
        const { reported } = follow(nodes);
        nodes.set(object);
        expect(reported).toEqual({ problem: undefined, failures: [] });
    });

    it.each([
        [
            "without podCIDRs",
            worker([]),
            /^Node worker has no spec\.podCIDRs.*; it had 10\.10\.1\.0\/24,fd00:10::\/64, /,
        ],
        ["whose podCIDRs cannot be read", worker(["10.10.1.0"]), /10\.10\.1\.0, which is not a CIDR; it had/],
        [
            "that is gone",
            undefined,
            /^the API server has no Node worker \(NODE_NAME\); it had .* may since be assigned to another Node; kubelet recreates .*$/,
        ],
    ])("a Node %s wires no Pod until it has its own again", (_, object, words) => {
        const nodes = new Nodes(worker(both));
        const { reported } = follow(nodes);
        nodes.set(object);
        expect(reported.problem).toMatch(words);
        nodes.set(worker(both));
        expect(reported).toEqual({ problem: undefined, failures: [] });
    });

    it("while the API server is away what is known holds, and is checked when it is back", () => {
        const nodes = new Nodes(undefined);
        nodes.hasSynced = false;
        const { reported, check } = follow(nodes);
        expect(reported.problem).toBeUndefined();
        nodes.hasSynced = true;
        check();
        expect(reported.problem).toMatch(/has no Node worker/);
    });

    it("while the API server is away a Node of which an earlier start heard that it is gone gets no Pod", () => {
        const nodes = new Nodes(worker(both));
        nodes.hasSynced = false;
        const { reported, check } = follow(nodes, Date.UTC(2026, 0, 2, 3, 4, 5));
        // Nothing reported that it is still gone.
        expect(reported.problem).toBe(
            "Node worker was deleted at 2026-01-02T03:04:05.000Z, and it is not known since this start whether it was recreated; it had 10.10.1.0/24,fd00:10::/64, which may since be assigned to another Node",
        );
        nodes.hasSynced = true;
        check();
        expect(reported.problem).toBeUndefined();
    });

    it("other podCIDRs end the process, reported with both", () => {
        const nodes = new Nodes(worker(both));
        const { reported } = follow(nodes);
        nodes.set(worker(["10.10.2.0/24"]));
        expect(String(reported.failures[0])).toMatch(/from 10\.10\.1\.0\/24,fd00:10::\/64 to 10\.10\.2\.0\/24/);
    });
});
