import { allNodes, shellOnNode, workers } from "../fixture/cluster.ts";

/** What goes wrong for a while. */
export interface Fault {
    readonly name: string;
    /** The Node where it happens; several take turns. */
    readonly nodes: readonly string[];
    /** How long it lasts. 0: it happens once, as a kill. */
    readonly holdMs: number;
    readonly begin: (node: string) => Promise<void>;
    /** Ends it; also when it did not begin fully. */
    readonly end: (node: string) => Promise<void>;
    /** Whether Open vSwitch of the Node does not forward for a while. */
    readonly stopsSwitch: boolean;
}

/** One fault, and when all was well again; times in milliseconds as Date.now() counts. */
export interface Strike {
    readonly fault: string;
    readonly node: string;
    readonly from: number;
    readonly ended: number;
    /** When Open vSwitch of the Node was running again. Undefined: the fault did not stop it. */
    readonly switchBack: number | undefined;
    /** Undefined: not in the time that was given. */
    readonly wellAgain: number | undefined;
    /** The next one begins. */
    readonly to: number;
}

/** How a Node's process list shows a program. */
const programs = {
    "antrea-agent": "pgrep -f [/]antrea-agent.mjs",
    "ovsdb-server": "pgrep -x ovsdb-server",
    "ovs-vswitchd": "pgrep -x ovs-vswitchd",
    "antrea-controller": "pgrep -f [/]antrea-controller.mjs",
    "antrea-webhook": "pgrep -f [/]antrea-webhook.mjs",
    "kube-apiserver": "pgrep -x kube-apiserver",
    etcd: "pgrep -x etcd",
} as const;
type Program = keyof typeof programs;

const controlPlane = allNodes.slice(0, 1);

function nodesOf(program: Program): readonly string[] {
    if (program === "kube-apiserver" || program === "etcd") return controlPlane;
    if (program === "antrea-controller" || program === "antrea-webhook") return ["where it runs"];
    return workers;
}

/**
 * With the userspace datapath a packet is forwarded by ovs-vswitchd, and it waits, also with packets, while it has no connection to
 * ovsdb-server.
 */
const ofSwitch: readonly Program[] = ["ovs-vswitchd", "ovsdb-server"];

/** Resolves with true if both programs of Open vSwitch run on the Node, not stopped; else with undefined. */
export async function isSwitchRunning(node: string): Promise<true | undefined> {
    const runs = (program: Program): string =>
        `pid=$(${programs[program]}) && grep -q "^State:.[RSDI]" /proc/$pid/status`;
    const output = await shellOnNode(node, `${ofSwitch.map(runs).join(" && ")} && echo yes || true`);
    return output.trim() === "yes" || undefined;
}

/** Sends a signal to a program on a Node, or on all where it is asked for by no Node. */
async function signal(program: Program, node: string, name: string): Promise<void> {
    const nodes = allNodes.includes(node) ? [node] : allNodes;
    const script = `for pid in $(${programs[program]}); do kill -${name} "$pid"; done`;
    await Promise.all(nodes.map((one) => shellOnNode(one, script)));
}

function killed(program: Program): Fault {
    return {
        name: `${program} killed`,
        nodes: nodesOf(program),
        holdMs: 0,
        begin: (node) => signal(program, node, "KILL"),
        end: () => Promise.resolve(),
        stopsSwitch: ofSwitch.includes(program),
    };
}

function paused(program: Program, holdMs: number): Fault {
    return {
        name: `${program} paused for ${holdMs / 1000} s`,
        nodes: nodesOf(program),
        holdMs,
        begin: (node) => signal(program, node, "STOP"),
        end: (node) => signal(program, node, "CONT"),
        stopsSwitch: ofSwitch.includes(program),
    };
}

const slowMs = 30_000;

/** The API server runs for one moment in five, so that each request takes some of them. */
const slow: Fault = {
    name: `kube-apiserver slow for ${slowMs / 1000} s`,
    nodes: controlPlane,
    holdMs: slowMs,
    begin: async (node) => {
        const each = (name: string): string =>
            `for pid in $(${programs["kube-apiserver"]}); do kill -${name} $pid; done`;
        const moment = `${each("STOP")}; sleep 0.2; ${each("CONT")}; sleep 0.05`;
        const rounds = `n=0; while [ $((n += 1)) -le ${Math.floor(slowMs / 300)} ]; do ${moment}; done`;
        await shellOnNode(node, `nohup sh -c '${rounds}' >/dev/null 2>&1 &`);
    },
    end: (node) => signal("kube-apiserver", node, "CONT"),
    stopsSwitch: false,
};

/** The file system on which agent and OVS keep what outlives them. */
export const stateFolder = "/var/lib/antrea";
const filler = `${stateFolder}/filler`;

const full: Fault = {
    name: "disk of agent and OVS full for 30 s",
    nodes: workers,
    holdMs: 30_000,
    begin: async (node) => {
        await shellOnNode(
            node,
            `dd if=/dev/zero of=${filler} bs=4k 2>/dev/null; test "$(df --output=avail ${stateFolder} | tail -n 1)" -lt 8`,
        );
    },
    end: async (node) => {
        await shellOnNode(node, `rm -f ${filler}`);
    },
    stopsSwitch: false,
};

/** In the order in which they come; each takes another Node in the next round. */
export const faults: readonly Fault[] = [
    killed("antrea-agent"),
    killed("kube-apiserver"),
    killed("ovs-vswitchd"),
    killed("antrea-controller"),
    paused("antrea-agent", 15_000),
    killed("etcd"),
    full,
    killed("ovsdb-server"),
    paused("kube-apiserver", 15_000),
    killed("antrea-webhook"),
    paused("ovs-vswitchd", 5_000),
    paused("antrea-controller", 20_000),
    slow,
    paused("etcd", 10_000),
    paused("ovsdb-server", 10_000),
    paused("antrea-webhook", 15_000),
];

/** Whether the state is on a file system of its own, on all Nodes. */
export async function stateIsSeparate(): Promise<boolean> {
    const answers = allNodes.map((node) => shellOnNode(node, `mountpoint -q ${stateFolder} && echo yes || true`));
    return (await Promise.all(answers)).every((answer) => answer.trim() === "yes");
}
