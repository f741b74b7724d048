import { services } from "@antrea/kube";
import { Command, Option } from "commander";
import { type Cluster } from "../cluster/index.ts";
import { completeObjectName, readObjectName, type NamedObject } from "../object-ref.ts";
import { readAgents } from "../ovs-records/index.ts";
import {
    exitFailed,
    exitIncomplete,
    exitOk,
    globalOptionsOf,
    type CommandContext,
    type Completion,
    type Session,
} from "../program/index.ts";
import { gatherFacts } from "./facts.ts";
import { OvsReader } from "./ovs-reader.ts";
import { renderService } from "./render.ts";
import { plansOf, serviceReport, type ServiceReport } from "./report.ts";

const serviceKind = { kind: "Service", words: ["service", "services", "svc"], example: "default/web" };
/** An agent needs less from a change of the API server to OVS. */
const settleMs = 2_000;

/**
 * Makes the command `antctl service NAMESPACE/NAME`, which prints a ServiceReport. Exit code exitFailed if OVS differs from
 * what is to be served, exitIncomplete if OVS of a Node could not be read. Its action rejects with CliError `USAGE`,
 * `NOT_FOUND`, `IGNORED` or KubeError.
 */
export function serviceCommand(context: CommandContext): Command {
    const command = new Command("service")
        .summary("show how AntreaProxy serves a Service, and what OVS has")
        .description(
            "Shows at which addresses AntreaProxy serves a Service, which endpoints Pods of each Node get and why not the " +
                "others, what is not served, and whether OVS has the same. Nodes on which the same is served are " +
                "shown together. A difference is checked again a moment later. Exit code: 0 OVS has the same, 1 it " +
                "differs, 2 it could not be read everywhere.",
        )
        .argument("SERVICE", "NAMESPACE/NAME, or NAME or service/NAME with --namespace")
        .addOption(new Option("--node <NODE>", "only this Node, with its flows"))
        .action(async (text: string, { node }: { readonly node?: string }) => {
            const { namespace } = globalOptionsOf(command);
            using session = context.session(command);
            const usual = session.namespace ?? "default";
            const named = readObjectName(text, serviceKind, { given: namespace, usual });
            let report = await checkService(session, named, node);
            if (statesIn(report).has("differs")) {
                context.note(`OVS differs; checking again in ${settleMs / 1000} s`);
                await context.sleep(settleMs);
                report = await checkService(session, named, node);
            }
            const states = statesIn(report);
            context.exitWith(states.has("differs") ? exitFailed : states.has("unread") ? exitIncomplete : exitOk);
            context.print(command, report, (one, style) => renderService(one, style, context.now()));
        });
    return context.completeWith(command, async ({ session, typed, before, options }) =>
        before.length > 0 ? [] : completeService(session.cluster, typed, options.get("namespace")),
    );
}

async function checkService(session: Session, named: NamedObject, node: string | undefined): Promise<ServiceReport> {
    const facts = await gatherFacts(session.cluster, named, node);
    const plans = plansOf(facts);
    const planOf = new Map(plans.map((plan) => [plan.name, plan]));
    const reads = await readAgents(
        session,
        (run, name) => new OvsReader(run, facts.bridge).read(planOf.get(name)?.places ?? []),
        (name) => planOf.has(name),
    );
    return serviceReport(facts, plans, reads);
}

function statesIn({ nodes }: ServiceReport): ReadonlySet<string> {
    return new Set(nodes.flatMap(({ ovs }) => ovs.map(({ state }) => state)));
}

function completeService(
    cluster: Cluster,
    typed: string,
    namespace: string | undefined,
): Promise<readonly Completion[]> {
    return completeObjectName(cluster, { typed, namespace }, (of) =>
        cluster.list(
            services,
            ({ metadata, spec }) => ({ value: metadata?.name ?? "", description: spec?.clusterIP ?? "" }),
            { namespace: of },
        ),
    );
}
