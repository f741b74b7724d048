// The agent's path of flows into Open vSwitch, in a separate process: the table, the encoding, the connection.
import { readFileSync } from "node:fs";
import { Category, type FlowSet } from "@antrea/flows";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { FlowTable } from "@antrea/agent/platform/ovs/flow-table";
import { serveBench } from "../helper.ts";
import { silent } from "../silent.ts";
import { flowsOfNode } from "./node-flows.ts";

const never = new AbortController().signal;
// Longer than any measurement: the throughput is measured, not the agent's timeouts.
const timeouts = { requestTimeoutMs: 120_000 };
let opened: OpenFlowConnection | undefined;

function current(): OpenFlowConnection {
    return opened as OpenFlowConnection; // "open" comes first
}

async function open({ socketPath }: { readonly socketPath: string }): Promise<void> {
    opened = new OpenFlowConnection({ logger: silent }, { socketPath, ...timeouts });
    opened.start(never);
    await opened.barrier();
}

/** A table without flows, like the bridge. */
function emptyTable(): FlowTable {
    const table = new FlowTable({ link: current(), logger: silent });
    table.useRound(1);
    return table;
}

/** All flows with one owner, in one bundle: from their inputs to the barrier reply. */
async function set({ count }: { readonly count: number }): Promise<{ buildMs: number; ms: number; grownMib: number }> {
    const table = emptyTable();
    const before = residentMib("VmRSS");
    const begin = performance.now();
    const flows = flowsOfNode(count).flatMap((owned) => owned.set.flows);
    const wanted: FlowSet = { category: Category.default, flows };
    const buildMs = performance.now() - begin;
    await table.set("bench", wanted);
    await current().barrier();
    const ms = performance.now() - begin;
    return { buildMs, ms, grownMib: residentMib("VmHWM") - before };
}

/** All flows as after a reconnect, with their owners and in bundles, and the query for stale ones. */
async function replay({ count }: { readonly count: number }): Promise<number> {
    const table = emptyTable();
    const begin = performance.now();
    for (const owned of flowsOfNode(count)) table.stage(owned.owner, owned.set);
    await table.replay(current());
    return performance.now() - begin;
}

/** Resident memory in MiB: current, or peak. */
function residentMib(key: "VmRSS" | "VmHWM"): number {
    const status = readFileSync("/proc/self/status", "utf8");
    return Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
}

serveBench({ open, set, replay });
