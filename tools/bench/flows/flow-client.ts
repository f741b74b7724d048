// The agent's way of flows into Open vSwitch, in a process of its own: the table, the encoding, the connection.
import { readFileSync } from "node:fs";
import { Category, type FlowSet } from "@antrea/flows";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { FlowTable } from "@antrea/agent/platform/ovs/flow-table";
import { serveBench } from "../helper.ts";
import { silent } from "../silent.ts";
import { flowsOfNode } from "./node-flows.ts";

const never = new AbortController().signal;
// As long as the longest of all: the machine's pace is what is measured, not what the agent does when it is slow.
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

/** A table that knows of no flows, as the bridge has none. */
function emptyTable(): FlowTable {
    const table = new FlowTable({ link: current(), logger: silent });
    table.useRound(1);
    return table;
}

/** All flows as those of one owner, in one bundle: from their inputs to the answer to a barrier behind it. */
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

/** All flows as after a connection, with their owners and in bundles, and the look for others. */
async function replay({ count }: { readonly count: number }): Promise<number> {
    const table = emptyTable();
    const begin = performance.now();
    for (const owned of flowsOfNode(count)) table.stage(owned.owner, owned.set);
    await table.replay(current());
    return performance.now() - begin;
}

/** Resident memory in MiB: now, or the highest since the start. */
function residentMib(key: "VmRSS" | "VmHWM"): number {
    const status = readFileSync("/proc/self/status", "utf8");
    return Number(new RegExp(`^${key}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
}

serveBench({ open, set, replay });
