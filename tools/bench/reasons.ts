interface Explanation {
    readonly reason: string;
    readonly next: string;
}

const hop: Explanation = {
    reason:
        "The floor makes no call. The hop by gRPC (`agent-hop`, a call without work) alone is about half of the floor, and " +
        "most of it is node:http2 on both sides, not grpc-js. Inside, the agent takes 1.3 times the floor: what the floor " +
        "has not are the flows, 0.5 ms to encode them and as much in ovs-vswitchd, whose one thread also opens the port.",
    next:
        "Serve the socket with HTTP/2 frames of our own, as antrea-cni sends them; send the flows before the veth pair is " +
        "made, so that ovs-vswitchd takes them meanwhile (0.3 ms, measured); log after the answer.",
};

const deletion: Explanation = {
    reason:
        "The floor of DEL is one OVSDB transaction and no call. The agent removes the flows first and waits for the barrier, " +
        "then makes the same transaction, then takes the record off the link; the hop by gRPC (`agent-hop`) alone is " +
        "several times the floor.",
    next: "Send the transaction without waiting for the barrier, answer, and change the link's alias after the answer.",
};

const memory: Explanation = {
    reason:
        "Node.js takes 42 MiB before the first line runs; zod, grpc-js, undici and prom-client add 50; the rest is room that " +
        "the garbage collector leaves itself when many calls come.",
    next:
        "The generated classes of @kubernetes/client-node are left out of the bundle and Node.js runs with " +
        "--optimize-for-size already; next is to serve the CNI socket without grpc-js and to read the settings without zod.",
};

const flows: Explanation = {
    reason:
        "`ovs-ofctl` needs about 0.2 s too, of which little is its own. On our side the match of each flow is brought into " +
        "canonical form three times, for its identity, for the check and for the encoding, with the mask of each field " +
        "computed anew; a quarter of the time is garbage collection.",
    next: "Bring each match into canonical form once, and keep the masks and prerequisites of fields in a table.",
};

const change: Explanation = {
    reason:
        "The agent looks through all Nodes for a change of one, and the events of a thousand Nodes leave much to the garbage " +
        "collector. What is written is only what changed.",
    next: "Keep the ways by Node and compute those of the changed Node alone.",
};

const busyMachine: Explanation = {
    reason:
        "On a machine at rest the ratio is 1.45. The shim waits for an answer of another process, which has to get a " +
        "processor; on a machine with other work (see its load average) that wait counts for the shim alone.",
    next: "Measure on a machine at rest.",
};

/** Why a goal is missed where it is, and what to try next; looked up by the id of the result. */
const known: Readonly<Record<string, Explanation>> = {
    "agent-add-p50": hop,
    "agent-add-p99": hop,
    "agent-del-p50": deletion,
    "agent-del-p99": deletion,
    "shim-add": busyMachine,
    "flows-time": flows,
    "flows-time-first": flows,
    "peers-encap-change-p50": change,
    "peers-encap-change-p99": change,
    "peers-noencap-change-p50": change,
    "peers-noencap-change-p99": change,
    "memory-agent-idle": memory,
    "memory-agent-pods": memory,
};

const unknown: Explanation = {
    reason: "Not looked into yet.",
    next: "Profile our side (BENCH_NODE_OPTIONS of tools/bench/run.sh, strace -f -r) and compare step by step.",
};

export function explain(id: string): Explanation {
    return known[id] ?? unknown;
}
