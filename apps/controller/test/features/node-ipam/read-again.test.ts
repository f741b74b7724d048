import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { KubeError, type ConfigMap, type Node } from "@antrea/kube";
import { MemoryLog } from "@antrea/runtime/testing";
import { parsePrefix } from "@antrea/ip";
import { CidrReconciler, type CidrReconcilerComponents } from "../../../src/features/node-ipam/cidr-reconciler.ts";

const node = (uid: string, podCIDR?: string): Node => ({
    metadata: { name: "a", uid },
    ...(podCIDR !== undefined && { spec: { podCIDR, podCIDRs: [podCIDR] } }),
});

/** One Node, which the informer shows as it was; what a patch of it meets on the API server is the test's. */
class OneNode {
    /** As the API server has it when it is read again. */
    live: Node = node("first");
    readonly log = new MemoryLog();
    readonly allocated: string[] = [];
    reads = 0;
    patches = 0;
    #ledger: ConfigMap | undefined;

    readonly #api = {
        find: async (resource: { readonly plural: string }) => {
            await Promise.resolve();
            if (resource.plural === "configmaps") return this.#ledger;
            this.reads += 1;
            return this.live;
        },
        create: (_resource: unknown, object: ConfigMap) => this.#store(object),
        update: (_resource: unknown, object: ConfigMap) => this.#store(object),
        patch: async () => {
            await Promise.resolve();
            this.patches += 1;
            throw new KubeError("CONFLICT", "another Node has this name");
        },
    };

    readonly allocator = new CidrReconciler(
        {
            api: this.#api as unknown as CidrReconcilerComponents["api"],
            nodes: {
                get: () => node("first"),
                list: () => [node("first")],
                synced: () => Promise.resolve(),
                onChange: (listener: (type: "added", key: string, node: Node) => void) => {
                    listener("added", "a", node("first"));
                    return { [Symbol.dispose]: () => undefined };
                },
            } as unknown as CidrReconcilerComponents["nodes"],
            recorder: { record: () => undefined },
            metrics: {
                allocated: (cidrs) => void this.allocated.push(String(cidrs.length)),
                exhausted: () => undefined,
                ledgerWritten: () => undefined,
            },
            logger: this.log.logger,
        },
        {
            settings: { clusters: [{ prefix: parsePrefix("10.0.0.0/16"), nodeMaskSize: 24 }], serviceCidrs: [] },
            namespace: "default",
            ledgerName: "ledger",
            holder: "us",
        },
    );

    get messages(): readonly string[] {
        return this.log.messages();
    }

    async #store(object: ConfigMap): Promise<ConfigMap> {
        await Promise.resolve();
        this.#ledger = { ...object, metadata: { ...object.metadata, resourceVersion: crypto.randomUUID() } };
        return this.#ledger;
    }
}

let one: OneNode;
let stop: AbortController;
let run: Promise<void>;

beforeEach(() => {
    one = new OneNode();
    stop = new AbortController();
});

afterEach(async () => {
    stop.abort();
    await run;
});

/** Until the Node was read after the refused patch, and a little longer. */
async function wasRead(): Promise<void> {
    run = one.allocator.run(stop.signal);
    while (one.reads === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 20));
}

it("leaves a Node that was made anew under the name to the next turn, whatever podCIDRs it has", async () => {
    one.live = node("second", "10.0.0.0/24");
    await wasRead();
    expect(one.messages).not.toContain("the Node has podCIDRs already");
    expect(one.allocated).toEqual([]);
    expect([one.patches, one.reads]).toEqual([1, 1]);
});

it("leaves a Node that was made anew and has none yet, too, and does not try the old one again", async () => {
    one.live = node("second");
    await wasRead();
    expect([...one.log.messages("warn"), ...one.log.messages("error")]).toEqual([]);
    expect([one.patches, one.reads]).toEqual([1, 1]);
});

it("counts what the very Node has, when it is what was promised to it", async () => {
    one.live = node("first", "10.0.0.0/24");
    await wasRead();
    expect(one.messages).toContain("the Node has podCIDRs already");
    expect(one.allocated).toEqual(["1"]);
});
