// Runs the benchmarks; started by run.sh through sandbox.sh.
import { setTimeout as sleep } from "node:timers/promises";
import { agentCalls } from "./benchmarks/agent-calls.ts";
import { admission } from "./benchmarks/admission.ts";
import { bridging } from "./benchmarks/bridging.ts";
import { burst } from "./benchmarks/burst.ts";
import { allocationParts } from "./benchmarks/claims.ts";
import { allocationsAtRest } from "./benchmarks/claims-at-rest.ts";
import { dataPlane } from "./benchmarks/data-plane.ts";
import { manyFlows } from "./benchmarks/flows.ts";
import { growth } from "./benchmarks/growth.ts";
import { ipam } from "./benchmarks/ipam.ts";
import { manyNodes } from "./benchmarks/many-nodes.ts";
import { manyPeers } from "./benchmarks/peers.ts";
import { networkParts } from "./benchmarks/networks.ts";
import { pluginCalls } from "./benchmarks/plugin-calls.ts";
import { poolAdd } from "./benchmarks/pool-add.ts";
import { serviceParts } from "./benchmarks/services.ts";
import { shim } from "./benchmarks/shim.ts";
import { Helper } from "./helper.ts";
import { describeMachine, loadNow } from "./machine.ts";
import { NodeUnderTest } from "./node-under-test.ts";
import { PodNamespaces } from "./pod-namespaces.ts";
import { areSizesFull } from "./services/sizes.ts";
import { table } from "./pages.ts";
import { explained, writeAgain, writePart, writeReport } from "./report.ts";
import { type Result } from "./result.ts";

const idleMs = 5_000;
const nodeBenchmarks = ["calls", "plugin", "burst"];
const keepsPart = process.argv[2] === "--write";
const wanted = process.argv.slice(keepsPart ? 3 : 2);
const wants = (...names: readonly string[]): boolean =>
    wanted.length === 0 || wanted.some((name) => names.includes(name));

if (process.argv[2] === "--draw") {
    writeAgain();
    process.exit(0);
}

const begin = performance.now();
const results: Result[] = [];

async function measure(label: string, work: () => Promise<readonly Result[]>): Promise<void> {
    const start = performance.now();
    results.push(...(await work()));
    process.stderr.write(`  ✓ ${label} (${Math.round((performance.now() - start) / 1000)}s)\n`);
}

async function measureNode(): Promise<void> {
    await using node = await NodeUnderTest.start();
    await sleep(idleMs);
    const idle = node.memory();
    using namespaces = new PodNamespaces();
    await using floor = new Helper("floor.ts");
    await floor.ask("open", { socketPath: node.ovs.dbSocket });
    if (wants("calls")) await measure("agent ADD and DEL", () => agentCalls(node, floor, namespaces));
    if (wants("plugin")) await measure("whole-process ADD and DEL", () => pluginCalls(node, floor, namespaces));
    if (wants("burst")) await measure("100 ADDs at once, memory", () => burst(node, idle, namespaces));
}

// As PID 1 of its namespace this process has no default action for signals.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

const loadBefore = loadNow();
const machine = describeMachine();
if (wants(...nodeBenchmarks)) await measureNode();
if (wants("shim")) await measure("shim", shim);
if (wants("nodes")) await measure("5,000 Nodes", manyNodes);
if (wants("flows")) await measure("15,000 flows", manyFlows);
if (wants("peers")) await measure("1,000 peers", manyPeers);
if (wants("data-plane")) await measure("Pod to Pod", dataPlane);
if (wants("bridging")) await measure("bridged Pods and the Node's move", bridging);
for (const { id, label, run } of allocationParts) if (wants("claims", id)) await measure(label, run);
for (const { id, label, run } of networkParts) if (wants("networks", id)) await measure(label, run);
for (const { id, label, run } of serviceParts) if (wants("services", id)) await measure(label, run);
if (wants("pool-add")) await measure("ADDs from IPPools", poolAdd);
if (wants("ipam")) await measure("IPAM plugins by the protocol of CNI", ipam);
if (wants("growth")) await measure("growth with pools, addresses, Nodes", growth);
if (wants("claims-at-rest")) await measure("100,000 allocations", allocationsAtRest);
if (wants("webhook")) await measure("webhook with 10 to 10,000 pools", admission);

const all = explained(results);
process.stdout.write(`\n${table(all)}\n`);
if (!areSizesFull) {
    process.stdout.write("\nnot to be written: BENCH_SERVICES is not that of published results\n");
} else if (wanted.length === 0 || keepsPart) {
    const run = { machine, loadBefore, seconds: (performance.now() - begin) / 1000, results: all };
    if (wanted.length === 0) writeReport(run);
    else writePart(run);
    process.stdout.write("\nwritten: docs/benchmarks/README.md, latest.json and the charts\n");
}
process.exit(0);
