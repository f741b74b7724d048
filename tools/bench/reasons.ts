/** The agent's work for an allocation besides the create. */
const fence =
    "After each create the agent asks for the IPPool, so that no Pod is wired by what the pool was before: one GET more.";

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
        "`ovs-ofctl` needs about 0.2 s too, of which little is its own: the rest is ovs-vswitchd. The first time in a process " +
        "the encoding runs before it is compiled, which takes twice as long as later.",
    next: "Send the bundle in parts while the rest is encoded, so that ovs-vswitchd reads meanwhile.",
};

const loadedDataPlane: Explanation = {
    reason:
        "Not explained yet. On a machine at rest the goal holds (1.08 and 1.10); 0.78 to 0.88 came of runs at load averages " +
        "of 2.4 and 8.3. Throughput on the same way reaches its goal, so it is time for each small packet, not for bytes.",
    next:
        "Measure on a machine at rest; if it stays, compare the megaflows (dpctl/dump-flows -m) and the sub-tables looked " +
        "through for each packet (pmd-stats-show).",
};

const claimed: Explanation = {
    reason:
        "An allocation is a create, a GET, and what the agent's own watches report of it; a bare create is the first only. Both " +
        "cores are busy with either. Before the GET 1 to 100 agents reached 0.8 to 1.05 on a machine at rest, with it 0.61 " +
        "to 0.68. " +
        fence,
    next: "One GET of a pool for all creates of an agent that ended before it began; read watch events without building objects.",
};

const filled: Explanation = {
    reason:
        "An agent that begins a block lists its allocations, and of blocks that are nearly full it soon needs the next: 6 to 11 " +
        "lists in 220 allocations where the pool is 90 % full, none where it is half full (`claims-full-lists`). For each " +
        "kube-apiserver reads all allocations of the cluster, 22,000 here, as its watch cache has no index for fields of " +
        "custom resources: 30 to 110 ms of its processor time. What half full differs by is the noise of short rounds: " +
        "in runs at rest its allocations took 0.89 to 1.39 times those of the empty pool.",
    next: "List the next block while the last one still has addresses; longer rounds.",
};

const watched: Explanation = {
    reason:
        "Each allocation is an event for the agents that watch its block; a thousand more of them hold the API server's one core of two " +
        "while it writes. Only watches of the block get it; the others cost a check (`growth-nodes-claim-p50`).",
    next: "Choose blocks so that fewer agents share one while a pool has blocks to spare.",
};

const poolAdd: Explanation = {
    reason:
        "An ADD of the Node's subnet asks the API server nothing, and an allocation is a write in etcd: 4 ms of its own. It runs " +
        "beside the veth pair and the port; what must wait for it are the record, the Pod's addresses and the flows. " +
        fence,
    next: "Send the flows together with the record.",
};

const bridgedAdd: Explanation = {
    reason:
        "An ADD of the Node's subnet asks the API server nothing. An allocation is a write in etcd, in an ADD longer than the bare " +
        "create beside it (`bridging-add-claim`), for OVS opens the port meanwhile on the same two cores. What waits for it " +
        "are the record, the Pod's addresses and the flows, those of the VLAN among them. " +
        fence,
    next:
        "Claim when the Pod is bound to the Node, which the agent can watch, not when its ADD comes; send the flows together " +
        "with the record.",
};

const bridgedPackets: Explanation = {
    reason:
        "A plain bridge passes a packet in one lookup; ours looks up its connection too, which makes it two, as with `ct` " +
        "(`pmd-stats-show`: 2.00 passes). No packet of a connection goes to the slow path. Most of the time is what " +
        "ovs-vswitchd does each time it wakes, for both; what it computes for a request is 1.1 to 1.2 times that of the " +
        "plain bridge. Tags cost more than on ports with a tag of their own: they go by registers, since the way of a " +
        "packet decides on them.",
    next:
        "Take the tag off and put it on by flows of one VLAN, without registers; measure with the kernel's datapath, where " +
        "no process wakes for a packet.",
};

const plugin: Explanation = {
    reason: "19 ms against 15.8 ms, of which the start of antrea-cni takes 10; see `shim-add` and `agent-add-p50`.",
    next: "As for these two.",
};

const change: Explanation = {
    reason:
        "The agent checks all Nodes for a change of one, and the events of a thousand Nodes leave much to the garbage " +
        "collector. What is written is only what changed.",
    next: "Keep the routes by Node and compute those of the changed Node alone.",
};

const busyMachine: Explanation = {
    reason:
        "On a machine at rest the ratio is 1.45. The shim waits for an answer of another process, which has to get a " +
        "processor; on a machine with other work (see its load average) that wait counts for the shim alone.",
    next: "Measure on a machine at rest.",
};

const manyWatches: Explanation = {
    reason:
        "It is kube-apiserver: for each event it checks every watch of the resource, as its watch cache has no index for " +
        "fields of custom resources. Of its processor time an allocation and its release take 8 ms with the watches of one agent " +
        "and 14 to 20 ms with those of a thousand; the agent's own, 2 to 3 ms, is the same with both.",
    next: "One watch for each agent in place of two or three: that of its own allocations is not needed while it watches the block.",
};

const manyRoutes: Explanation = {
    reason:
        "It is ovs-vswitchd: with each change of a route it reads all routes of the kernel, in whichever table they are and " +
        "also with --disable-system-route, and asks for the name of the interface of each by three system calls: 1 ms with " +
        "no routes, 14 to 17 ms with 2,000. An ADD from a pool sets a route to the Pod, and 1,000 Nodes have 2,000 routes: " +
        "12 ms of its processor time for an ADD and a DEL become 92 ms. ADDs of the Node's subnet set no route.",
    next: "One route for the range of a pool in place of one for each Pod, and one route for all Nodes behind tunnels.",
};

const manyPools: Explanation = {
    reason:
        "It is kube-apiserver and etcd, whose heaps hold the 10,000 objects: of their processor time an allocation and its release " +
        "take 4.8 and 1.3 ms with one pool, 5 to 8 and 1.6 ms with 10,000. That of the agent's process, 1.3 to 1.9 ms, does " +
        "not grow but for its garbage collector.",
    next: "Keep of pools that no Pod of the Node names their ranges only, so that the agent's share of the memory goes down.",
};

const manyPorts: Explanation = {
    reason:
        "The allocations are done after two fifths of the time; the rest is 2,176 interfaces on two cores that are busy until the " +
        "end. `bridge` with host-local asks no API server, makes no port in Open vSwitch and leaves no flow.",
    next: "One transaction of the database for the ports of all ADDs that wait; a larger young generation for the agent.",
};

const requestsOfNetworks: Explanation = {
    reason:
        "The floor, which only makes the links and ports of eth0 and 16 networks one after the other, takes 3.8 times that of " +
        "one itself. All networks are made at once, but each has a create and a GET at the API server, which share two cores " +
        "with Open vSwitch.",
    next: "Measure with more cores; one GET of a pool for all networks of an ADD that claim from it.",
};

const endOfNetworks: Explanation = {
    reason:
        "Links, ports and allocations of all networks end together, but each allocation is a request of its own: 16 in place of one on " +
        "two cores. One network after another takes thirteen times as long.",
    next: "Answer when the ports are gone, as now, and delete the allocations of an ended Pod by one request for each pool.",
};

const delegatedAdd: Explanation = {
    reason: `What the baseline has not are the hop to the agent's checks and the GET. ${fence}`,
    next: "As for `agent-add-p50`.",
};

const comparedFlows: Explanation = {
    reason:
        "Each minute the agent compares all of about 3,150 flows with those of Open vSwitch, and reads links, addresses and " +
        "rules of the kernel; a part of what is measured is its garbage collector, which the idle agent does not need.",
    next: "Read a sixteenth of the flows when their number is right, as for larger tables.",
};

const restedProxy: Explanation = {
    reason:
        "kube-proxy waits a second between two syncs, and after two seconds of rest syncs at once. Both then wait for the API " +
        "server to write and send the change, which is most of the time of ours and a smaller part of its own.",
    next: "None: compare less what a bare watch takes (`services-change-p50`).",
};

const nearly: Explanation = {
    reason:
        "The two do not run at the same moment, and how often the writers of the list meet is chance: between runs the ratio " +
        "goes from 15 to 27; the list has no GET after its write.",
    next: "Longer rounds.",
};

/** Why a goal is missed, and what to try next, by the id of the result. */
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
    "plugin-add": plugin,
    "data-plane-same-connections-ct": loadedDataPlane,
    "data-plane-noencap-requests-ct": loadedDataPlane,
    "bridging-throughput-plain": bridgedPackets,
    "bridging-throughput-vlan": bridgedPackets,
    "bridging-requests-plain": bridgedPackets,
    "bridging-requests-vlan": bridgedPackets,
    "bridging-connections-plain": bridgedPackets,
    "bridging-connections-vlan": bridgedPackets,
    "bridging-add-p50": bridgedAdd,
    "claims-rate-1": claimed,
    "claims-rate-10": claimed,
    "claims-rate-100": claimed,
    "claims-open-p99": claimed,
    "claims-half-p50": filled,
    "claims-full-p50": filled,
    "claims-half-cpu": filled,
    "claims-full-cpu": filled,
    "claims-watched-p50": watched,
    "claims-watched-cpu": watched,
    "claims-rate-list-10": nearly,
    "growth-nodes-claim-p50": manyWatches,
    "growth-nodes-add-p50": manyRoutes,
    "growth-pools-claim-p50": manyPools,
    "networks-burst-success-at-once": manyPorts,
    "networks-burst-success-one-by-one": manyPorts,
    "networks-burst-claims": manyPorts,
    "networks-burst-claims-list": manyPorts,
    "networks-burst-time": manyPorts,
    "networks-burst-time-bridges": manyPorts,
    "networks-add-16-p50": requestsOfNetworks,
    "networks-add-16-row-p50": requestsOfNetworks,
    "networks-del-16-p50": endOfNetworks,
    "networks-ipam-add-p50": delegatedAdd,
    "networks-many-cpu": comparedFlows,
    "services-change-client-rest": restedProxy,
    "pool-add-p50": poolAdd,
    "pool-add-dual-p50": poolAdd,
    "memory-agent-idle": memory,
    "memory-agent-pods": memory,
};

const unknown: Explanation = {
    reason: "Not looked into yet.",
    next: "Profile our side (BENCH_NODE_OPTIONS of tools/bench/run.sh, strace -f -r) and compare step by step.",
};

/** The known explanation of a result, or a default. */
export function explain(id: string): Explanation {
    return known[id] ?? unknown;
}
