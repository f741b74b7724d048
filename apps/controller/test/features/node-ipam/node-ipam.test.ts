import { afterEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { parsePrefix } from "@antrea/ip";
import { KubeError, type ConfigMap } from "@antrea/kube";
import { Metrics } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { NodeIpam, type NodeIpamComponents } from "../../../src/features/node-ipam/index.ts";

/** NodeIPAM of a cluster without Nodes, with an API server that has the ledger alone. */
class Place {
    readonly log = new MemoryLog("debug");
    readonly clock = new ManualClock();
    readonly stop = new AbortController();
    readonly nodeIpam: NodeIpam;
    /** What each request about the ledger meets. */
    failure: KubeError | undefined;
    ledger: ConfigMap | undefined;
    ended = false;
    failed: unknown;
    /** How often an CidrReconciler read the ledger to begin. */
    reads = 0;

    constructor(prefix = "10.0.0.0/16", nodeMaskSize = 24) {
        const answer = async <T>(give: () => T): Promise<T> => {
            await Promise.resolve();
            if (this.failure !== undefined) throw this.failure;
            return give();
        };
        const write = (_resource: unknown, object: ConfigMap): Promise<ConfigMap> =>
            answer(() => {
                this.ledger = { ...object, metadata: { ...object.metadata, resourceVersion: crypto.randomUUID() } };
                return this.ledger;
            });
        const find = (): Promise<ConfigMap | undefined> => {
            this.reads += 1;
            return answer(() => this.ledger);
        };
        this.nodeIpam = new NodeIpam(
            {
                api: { find, create: write, update: write } as unknown as NodeIpamComponents["api"],
                nodes: {
                    get: () => undefined,
                    list: () => [],
                    synced: () => Promise.resolve(),
                    onChange: () => ({ [Symbol.dispose]: () => undefined }),
                } as unknown as NodeIpamComponents["nodes"],
                recorder: { record: () => undefined },
                metrics: new Metrics({ processMetrics: false }),
                logger: this.log.logger,
                clock: this.clock,
            },
            {
                settings: { clusters: [{ prefix: parsePrefix(prefix), nodeMaskSize }], serviceCidrs: [] },
                namespace: "default",
                identity: "us",
            },
        );
    }

    lead(): void {
        this.nodeIpam.lead(this.stop.signal).then(
            () => (this.ended = true),
            (error: unknown) => (this.failed = error),
        );
    }
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

describe("NodeIPAM that cannot work", () => {
    let place: Place;
    afterEach(async () => {
        place.stop.abort();
        await settle();
    });

    it("for its settings reports it before it leads, and ends no other work of the leader", async () => {
        place = new Place("10.0.0.0/7", 30);
        expect(place.nodeIpam.problem).toContain("10.0.0.0/7 has 8388608 subnets of length 30");
        place.lead();
        await place.clock.advance(600_000);
        await settle();
        expect([place.ended, place.failed, place.reads]).toEqual([false, undefined, 0]);
        expect(place.log.messages("error")).toEqual(["NodeIPAM cannot work, Nodes get no podCIDRs"]);
        place.stop.abort();
        await settle();
        expect(place.ended).toBe(true);
    });

    it("for what the API server reports tries again, less often each time, until it works", async () => {
        place = new Place();
        expect(place.nodeIpam.problem).toBeUndefined();
        place.failure = new KubeError("FORBIDDEN", "configmaps is forbidden");
        place.lead();
        await settle();
        expect(place.nodeIpam.problem).toContain("configmaps is forbidden");
        await place.clock.advance(60_000);
        await settle();
        expect(place.reads).toBeGreaterThan(2);
        expect(place.reads).toBeLessThan(12);
        expect([place.ended, place.failed]).toEqual([false, undefined]);
        place.failure = undefined;
        await place.clock.advance(30_000);
        await settle();
        expect(place.log.messages()).toContain("took over the ledger");
        expect(place.nodeIpam.problem).toBeUndefined();
    });
});
