import { Informer, nodes, type ApiClient, type Node } from "@antrea/kube";
import { kubeconfigOf, startChartServer } from "@antrea/chart/testing/chart-server";
import { spawnController } from "../controller.ts";
import { fact, figure, type Result } from "../result.ts";
import { silent } from "../silent.ts";

const nodeCount = 5_000;
const parallel = 64;
const limitMs = 240_000;

/**
 * Benchmark 5: the time from the start of the controller, with 5,000 Nodes present, until each has a subnet of both
 * families.
 */
export async function manyNodes(): Promise<readonly Result[]> {
    await using server = await startChartServer();
    const { api } = server.clients();
    await createNodes(api);

    const subnets = new Map<string, readonly string[]>();
    const done = Promise.withResolvers<void>();
    let firstAt = 0;
    await using informer = new Informer({ api, logger: silent }, { resource: nodes, transform: slim });
    informer.onChange((_type, name, node) => {
        const podCidrs = node.spec?.podCIDRs ?? [];
        if (podCidrs.length === 0) return;
        if (firstAt === 0) firstAt = performance.now();
        subnets.set(name, podCidrs);
        if (subnets.size === nodeCount) done.resolve();
    });
    const never = new AbortController().signal;
    informer.start(never);
    await informer.synced(never);

    const begin = performance.now();
    await using controller = spawnController("controller-5000", await kubeconfigOf(server, "antrea-controller"));
    const limit = setTimeout(() => done.resolve(), limitMs);
    await done.promise;
    clearTimeout(limit);
    const end = performance.now();
    const memory = controller.memory();
    const all = [...subnets.values()].flat();
    const complete = subnets.size === nodeCount && [...subnets.values()].every((cidrs) => cidrs.length === 2);
    return [
        fact({
            id: "nodes-time",
            what: `${nodeCount} Nodes get podCIDRs, from the start of the controller`,
            value: (end - begin) / 1000,
            unit: "s",
            goal: "all get both families, none twice",
            holds: complete && new Set(all).size === all.length,
        }),
        figure({
            id: "nodes-first",
            what: "of that until the first Node has them (start, election, list)",
            value: (firstAt - begin) / 1000,
            unit: "s",
        }),
        figure({
            id: "nodes-memory",
            what: "antrea-controller, peak memory meanwhile",
            value: memory.peak,
            unit: "MiB",
        }),
    ];
}

async function createNodes(api: ApiClient): Promise<void> {
    let next = 0;
    const worker = async (): Promise<void> => {
        while (next < nodeCount) {
            const name = `node-${String(next++).padStart(4, "0")}`;
            await api.create(nodes, { metadata: { name } });
        }
    };
    await Promise.all(Array.from({ length: parallel }, worker));
}

function slim(node: Node): Node {
    const { name, uid, resourceVersion } = node.metadata ?? {};
    return {
        metadata: { ...(name && { name }), ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
        spec: { ...(node.spec?.podCIDRs && { podCIDRs: node.spec.podCIDRs }) },
    };
}
