import { statefulSetOf } from "@antrea/ipam";
import { namespaces, pods, type Pod } from "@antrea/kube";
import { Command } from "commander";
import {
    agentSelector,
    eventsOf,
    ipamAnnotations,
    readGate,
    readPod,
    type Allocation,
    type Cluster,
    type PodInfo,
} from "../cluster/index.ts";
import { CliError } from "../errors.ts";
import { completeObjectName, readObjectName, type NamedObject } from "../object-ref.ts";
import { PoolSet } from "../pools/index.ts";
import { globalOptionsOf, type CommandContext, type Completion } from "../program/index.ts";
import { addressRequestOf, type Facts } from "./facts.ts";
import { readController } from "./controller.ts";
import { poolNamesOf } from "./network-plan.ts";
import { renderExplain } from "./render.ts";
import { explain } from "./report.ts";
import { readNetworks } from "./requested-networks.ts";

/**
 * Makes the command `antctl ipam explain`, with its subcommand `pod NAMESPACE/NAME`, which prints an ExplainReport. Its
 * action rejects with CliError `USAGE`, `NOT_FOUND`, `NOT_SERVED` or KubeError.
 */
export function explainCommand(context: CommandContext): Command {
    const pod = new Command("pod")
        .summary("explain where a Pod's addresses come from, and what blocks")
        .description(
            "Explains which annotation of a Pod or its Namespace counts, which pools are tried in which order and why " +
                "each serves or not, which networks it requests and where their addresses come from, what the Pod has, " +
                "and what blocks it now.",
        )
        .argument("POD", "NAMESPACE/NAME, or NAME or pod/NAME with --namespace")
        .action(async (text: string) => {
            const { namespace } = globalOptionsOf(pod);
            using session = context.session(pod);
            const ref = readObjectName(text, podKind, { given: namespace, usual: session.namespace ?? "default" });
            const facts = await gather(session.cluster, ref, context.now());
            context.print(pod, explain(facts), (report, style) => renderExplain(report, style, context.now()));
        });
    context.completeWith(pod, async ({ session, typed, before, options }) =>
        before.length > 0 ? [] : completePod(session.cluster, typed, options.get("namespace")),
    );
    return new Command("explain").summary("explain why something has the addresses it has").addCommand(pod);
}

const podKind = { kind: "Pod", words: ["pod", "pods", "po"], example: "default/web-0" };

async function gather(cluster: Cluster, ref: NamedObject, nowMs: number): Promise<Facts> {
    const [object, namespace, pools] = await Promise.all([
        cluster.find(pods, ref),
        cluster.find(namespaces, { name: ref.namespace }),
        PoolSet.read(cluster),
    ]);
    if (object === undefined) {
        const next = `kubectl -n ${ref.namespace} get pods lists those that there are`;
        throw new CliError("NOT_FOUND", "caller", `there is no Pod ${ref.namespace}/${ref.name}`, next);
    }
    const pod = readPod(object);
    const namespaceAnnotations = ipamAnnotations(namespace?.metadata?.annotations);
    const request = addressRequestOf(pod, namespaceAnnotations);
    const agents = await cluster.pods({ labelSelector: agentSelector });
    const antreaNamespace = agents[0]?.namespace ?? "kube-system";
    const networks = pod.hostNetwork
        ? undefined
        : await readNetworks(cluster, pod, () => readGate(cluster, antreaNamespace, "SecondaryNetwork"));
    const isOfSet = request?.set !== undefined || (networks !== undefined && statefulSetOf(pod) !== undefined);
    const names = [...(request?.named.names ?? []), ...(networks === undefined ? [] : poolNamesOf(networks, pools))];
    const [gate, controller, allocations, events, setEvents] = await Promise.all([
        readGate(cluster, antreaNamespace),
        isOfSet ? readController(cluster, antreaNamespace, nowMs) : ("unknown" as const),
        allocationsFor(cluster, pools, pod, names),
        eventsOf(cluster, { kind: "Pod", ...ref }),
        request?.set === undefined
            ? []
            : eventsOf(cluster, { kind: "StatefulSet", namespace: ref.namespace, name: request.set.name }),
    ]);
    return {
        pod,
        unscheduled: unscheduledReason(object),
        namespaceAnnotations,
        gate,
        controller,
        pools,
        networks,
        allocations,
        agent: agents.find(({ nodeName, deleting }) => nodeName === pod.nodeName && !deleting),
        events,
        setEvents,
    };
}

/** Allocations of the named pools, of pools that overlap them, and of the Pod's Node, which include the Pod's own. */
async function allocationsFor(
    cluster: Cluster,
    pools: PoolSet,
    pod: PodInfo,
    poolNames: readonly string[],
): Promise<readonly Allocation[]> {
    const named = poolNames.map((name) => pools.get(name)?.pool).filter((pool) => pool !== undefined);
    const names = new Set([...named, ...named.flatMap((pool) => pools.overlapping(pool))].map(({ name }) => name));
    const lists = await Promise.all([
        ...[...names].map((pool) => cluster.allocations({ pool })),
        ...(pod.nodeName === undefined ? [] : [cluster.allocations({ nodeName: pod.nodeName })]),
    ]);
    return [...new Map(lists.flat().map((allocation) => [allocation.name, allocation])).values()];
}

function unscheduledReason({ status }: Pod): string | undefined {
    return status?.conditions?.find(({ type, status: value }) => type === "PodScheduled" && value === "False")?.message;
}

function completePod(cluster: Cluster, typed: string, namespace: string | undefined): Promise<readonly Completion[]> {
    return completeObjectName(cluster, { typed, namespace }, async (of) =>
        (await cluster.pods({ namespace: of })).map(({ name, phase }) => ({ value: name, description: phase })),
    );
}
