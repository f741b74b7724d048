/** The method of each benchmark, by the first word of its ids: paragraphs of docs/benchmarks/details.md. */
export const methods: Readonly<Record<string, readonly string[]>> = {
    agent: [
        `200 ADDs and DELs, one at a time, by gRPC on a lasting connection. The floor is \`tools/bench/floor.ts\`: veth pair in one message, addresses and routes in one batch beside the OVSDB transaction for the port, then the wait for the port number; DEL is the transaction that removes the port. It has no flows, no records, no gRPC, no log, and it works on the same Open vSwitch. \`agent-hop\` is a call without work: the share of gRPC in the others.`,
    ],
    plugin: [
        `100 ADDs and DELs, from the start of the plugin's process to its end: \`antrea-cni\` with the agent behind it, and containernetworking's \`bridge\` with \`host-local\` on a Linux bridge, dual stack too.`,
    ],
    shim: [
        `200 runs of \`antrea-cni\` through a whole ADD that a server of grpc-js answers at once, against a program that only prints, compiled by the same Bun with the same options. Peak memory is the median of 10 runs, as time(1) reports it, pages of the binary included.`,
    ],
    burst: [`100 ADDs sent at the same moment to the agent, until the last one is answered; then their DELs.`],
    nodes: [
        `5,000 Nodes are created through the API first, then the controller is started; the time runs from its start as a process until a watch has shown subnets of both families on every Node.`,
    ],
    memory: [
        `VmRSS of the bundled programs with the Node.js options of their images, 5 s after the start and 5 s after the last of 100 ADDs, which more than 600 other calls came before.`,
    ],
    flows: [
        `15,000 flows of a dual-stack Node in mode encap: the pipeline, 110 Pods, and for the rest the tunnels to other Nodes. The agent's own table and connection, in a process with the agent's Node.js options, build them from addresses, encode them, send them in one bundle and wait for the answer to a barrier; the baseline reads the same flows from a file. 20 pairs, on a bridge that is empty each time. "The first time" is the median of 5 fresh processes, whose growth of memory is counted too. The replay after a connection sends bundles of 2,000, each flow under its owner, and reads all flows back to find those of others. Bytes are counted in runs of their own.`,
    ],
    peers: [
        `1,000 Node objects with podCIDRs and addresses of both families, without machines behind them. The start is that of the agent's process on a Node without flows and routes, median of three, until 2,000 routes are in the kernel and with tunnels 2,000 flows in OVS; memory is VmRSS 5 s later. Then 100 Nodes change their addresses, one at a time, from the request to the API server until the last changed flow or route of the Node is reported, by a flow monitor of OVS and by the kernel's notifications. These also report writes without a difference: "of others" is all that was written beside the flows, routes and neighbours of the one Node. The baseline is a watch that does nothing: API server, etcd and network alone. Mode encap is geneve, through a bridge over a NIC as in \`docs/datapaths.md\`.`,
    ],
    data: [
        `Two Nodes in network namespaces with a veth pair between them, each with an ovs-vswitchd and the bundled agent; Pods are connected by CNI calls, IPv4. The baselines are two such Nodes without an agent, whose bridge has as many ports, of the same numbers, as the agent's: "plain" has one flow, NORMAL, "ct" looks up each packet's connection once before and commits new ones, as our pipeline does. The run fails where NIC and Pods have other numbers. Across Nodes with noEncap all are routed by the hosts, through the same netfilter rules, which are copied from the agent's Nodes; with geneve the plain bridge has a tunnel port of its own and does not route. Checksums are computed by the Pods and the MTU is the same for all. Throughput is what iperf3 received of one TCP connection in 1 s. Requests and connections are made for 0.6 s after 0.1 s of warm-up, one at a time, by blocking calls of the C library: requests of one byte on one connection, and connections with one such request each. Ten rounds, and each side goes first in turn. What the generator gives over a veth pair without a switch is in the table too.`,
    ],
    bridging: [
        `Six Nodes in network namespaces on a Linux bridge that stands for the underlay: two in bridging mode and two with noEncap alone ("subnet"), all with the bundled agent, and two without one, whose plain bridge has the NIC as a port. Generator and "ct" are those of \`data-plane-…\`; requests and connections are made for 0.3 s in 20 rounds, throughput in ten of these. ovs-vswitchd checks all its ports each time it wakes, in an order that follows from their numbers, and the later the port of an answer is polled, the sooner the answer is passed on. So NIC and Pods of the plain bridges have the numbers that they have with the agent, and the run fails where they have not. The time without network is the longest between two echoes of the second Node, which a station of the underlay asks for each 2 ms by ICMP: from the start of the agent's process until the Node's condition reports that it is bridged, and from SIGTERM to its end; the interface with the NIC's name is checked each time. ADD and DEL are 100 of bridged Pods in no VLAN and of subnet Pods in turn on the first Node, IPv4, with bare creates of a claim by another process between them: what the write in etcd takes without an agent.`,
    ],
    claims: [
        `Simulated agents claim addresses of a pool of 16,384, one after the other each. An agent is the agent's own allocation code with connections and watches of its own; all live in four processes. Not simulated is the Event PoolAddressNotRouted of each Pod. There are two baselines. Bare creates: objects of the same kind and size under unique names, with as many watches of claims. The list: one object that holds in its status who has which address, written with 8 tries and pauses from 10 ms that grow by half; it reads live before each try, holds no watch, and its requests are not limited, all in its favour. The three work in turn, three rounds of 2.5 s each, on a fresh API server for each number of agents; the figures are medians of rounds. Failed claims are not counted in rates. Written bytes are those of etcd's log, watched bytes those of all watch events as the API server counts them, processor times are from /proc.`,
        `\`claims-open-…\`: claims of 100 agents begin at random times, 300 a second on average, whether others have ended or not, for 10 s; each is timed from the time at which it should begin.`,
        `\`claims-half-…\`, \`claims-full-…\`: 10 agents, three pools in turn: empty, 45 % and 90 % claimed at random; all rounds together claim 5 % more. Lists are those of claims that kube-apiserver answered in a round. \`claims-watched-…\`: the same 10 agents without and with 1,000 more that hold two watches each and claim nothing. Both are called flat up to 1.25 times.`,
        `\`claims-at-rest-…\`: 100,000 claims of 400 Nodes in one pool of 131,072. The controller's time runs from its start as a process until \`/readyz\`, that of the list from its first request to its last page, in a process that runs already; three times each, in turn. Memory is VmRSS, 5 s after the pool's usage is published, and of the agent 5 s after 10 ADDs.`,
    ],
    networks: [
        `VLAN networks with an IPPool each, 16 of them, IPv4, on one agent with the gates on; \`eth0\` is of the Node's subnets. \`networks-burst-…\`: 128 Pods at once, each way in turn, in 128 processes: one call of \`antrea-cni\` for each Pod and all its networks; one for each interface, one after another, by the same agent, as a meta plugin that comes first in the CNI folder makes them; and containernetworking's \`bridge\` with \`host-local\`, a Linux bridge for each network and one for \`eth0\`, one call after another too. Of ours and of its calls one after another the claims are counted by a watch in this process and the ports in Open vSwitch, and all must be there. The last claim is when that watch shows it, from the start of the first process. The list is the one of \`claims-…\`: 16 objects, in which one process claims 128 addresses each, all at once, with its own clients and the agent's rights; claims that give up are repeated at once, and nothing is wired. The floor, in one process, makes the links one after another and the ports of each Pod in one transaction, without addresses, records and flows, and waits until Open vSwitch has opened all ports.`,
        `\`networks-add-…\`, \`networks-del-…\`: 60 Pods of each number of networks, one call at a time, by gRPC on a lasting connection, in turn; "one call after another" are the 17 calls of a meta plugin in a row; "floor" makes the same links and ports in the steps of the agent, without records, flows, claims and requests. \`networks-ipam-…\`: 100 ADDs and DELs of an address for the interface of another plugin, each a whole process of \`antrea-cni\`, against \`antrea-cni\` with a server that answers at once plus a bare create, for a DEL a bare delete, of a claim by the agent's rights; \`host-local\` is that of \`ipam-…\`.`,
        `\`networks-traffic-…\`: two Nodes in network namespaces with the agent, two without, a cable for VLANs between each two beside that of the Pod network. The baseline is a bridge of Open vSwitch that switches by itself (\`NORMAL\`), with the NIC as a trunk and the Pods on access ports of the same VLAN; links, port numbers and netfilter rules are those of the agent's Nodes, as in \`data-plane-…\`. Throughput runs 1 s, requests and connections 0.3 s, 20 rounds in turn. \`networks-many-…\`: 128 Pods with 16 networks each; memory is VmRSS 5 s after the last ADD, and 5 s after the last of three restarts by SIGTERM; the Pods are added eight at a time; processor time is that of the whole agent in a minute, in which each of its checks runs once, less that of a minute before the Pods; ready is when the agent answers STATUS.`,
    ],
    pool: [
        `100 ADDs and DELs of Pods of an IPv4 pool, of a pool of each family, and of the Node's subnets, in turn on one agent with the gate on; then 110 processes of \`antrea-cni\` at once.`,
    ],
    ipam: [
        `IPAM plugins behind one harness, which runs one process for each call by the protocol of CNI 1.1 and uses nothing of a plugin but its results: containernetworking's \`host-local\`, \`dhcp\` with its daemon and dnsmasq in a network namespace, \`static\`, and \`antrea-cni\`. Behind \`antrea-cni\` is the agent's own CNI server and allocation, with a real API server, in a process without interfaces: an ADD gives an address and no interface, as that of an IPAM plugin does. What is compared is not the same work: \`host-local\` locks a folder and writes a file that counts on its own Node alone, \`antrea-cni\` asks another process and claims the address in etcd for the whole cluster, and \`dhcp\` asks a server on the network, which no other Node asks meanwhile. Neither etcd nor \`host-local\` waits for a disk. \`ipam-antrea-start\` is what the processes take without any work. Each has a pool of 253 addresses, a /24 without network, gateway and broadcast; \`static\` has none and takes part in single calls only. Sixty-three bursts (50 of 1, 10 of 10, 3 of 100 ADDs at once, then their DELs) in turn; 400 ADDs and DELs at random; 253 ADDs and one more, DELs, and the same again. A duplicate is an address that is given to a container while another has it, by the answers. Without a DEL vanish 100 containers of each; those of ours are Pods of a whole agent with controller and Open vSwitch, three times: GC follows at once, or nothing does, or the agent is killed and its Node gets the taint out-of-service. The release of a Node's allocations 5 minutes after its deletion is not measured. The interfaces for \`dhcp\` are made before; its daemon gives up an ADD without an offer after 15 s, by default after 208, and goes with its containers.`,
    ],
    growth: [
        `A figure at the largest, against the same at the smallest; the charts and \`points\` in latest.json show what is between. At each place controller and agent are started afresh on a real API server. Claims are 200 of one simulated agent (see \`claims-…\`), one after the other, each given back before the next, with no rest between, so that a pool stays as full as it is. ADDs are 30 of the bundled agent with Open vSwitch. Memory is VmRSS, 3 s after these. "size" are pools of 2^8 to 2^20 addresses, "full" some of these with 95 % claimed at random for other Nodes, "nodes" simulated Nodes beside the agent's, up to 999 objects with podCIDRs and addresses that the agent has routes to, each with the two watches that its agent would hold, and a pool of 2^16. "pools" are IPPools of 256 addresses. Constant is what grows up to 1.25 times; where memory must hold what grows, it may grow as the logarithm does, from 10 on: three times to 1,000, four to 10,000.`,
    ],
    webhook: [
        `600 AdmissionReviews of IPPools, one at a time on one connection: a pool that fits, one that overlaps, and a change, in turn. Growth may be that of the logarithm: twice from 10 to 100 pools, three times to 1,000.`,
    ],
};

/** The title of each group of results, and the id of the one in the overview. */
export const groups: Readonly<Record<string, { readonly title: string; readonly key?: string }>> = {
    agent: { title: "Agent: ADD and DEL", key: "agent-add-p50" },
    plugin: { title: "CNI plugin: whole process", key: "plugin-add" },
    burst: { title: "100 ADDs at once", key: "burst-add" },
    memory: { title: "Resident memory", key: "memory-agent-pods" },
    shim: { title: "antrea-cni without an agent", key: "shim-add" },
    printer: { title: "Baseline of a compiled program" },
    nodes: { title: "podCIDRs of 5,000 Nodes", key: "nodes-time" },
    flows: { title: "15,000 flows into OVS", key: "flows-time" },
    peers: { title: "Routes to 1,000 Nodes", key: "peers-encap-change-p50" },
    data: { title: "Data plane: Pod to Pod", key: "data-plane-geneve-throughput-plain" },
    bridging: { title: "Bridging mode", key: "bridging-throughput-plain" },
    claims: { title: "Claims by many agents", key: "claims-rate-100" },
    networks: { title: "Pods with networks", key: "networks-burst-time" },
    pool: { title: "Pods of IPPools", key: "pool-add-p50" },
    ipam: { title: "IPAM plugins side by side", key: "ipam-antrea-add-1-p50" },
    growth: { title: "Growth of pools and clusters", key: "growth-size-claim-p50" },
    webhook: { title: "Admission", key: "webhook-100-p99" },
};
