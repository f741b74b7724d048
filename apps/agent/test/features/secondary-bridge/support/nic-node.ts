import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { setTxChecksumOffload } from "@antrea/netlink";
import { UplinkNode } from "../../../platform/host/uplink/support/uplink-node.ts";
import type { ProgramInput } from "../../../platform/host/uplink/support/input.ts";
import { ipBatch, TestNetns } from "../../../support/namespace.ts";
import type { NicProgramInput, Reported } from "./input.ts";

const source = fileURLToPath(new URL("program.ts", import.meta.url));
/** Devices of the bridges. */
const ownDevices = ["br1", "eth0~br", "eth1~br"];

export interface AgentEnd {
    readonly signal: string | null;
    readonly reported: readonly Reported[];
    readonly log: string;
}

/**
 * A Node with two NICs that it uses, each on a network with a router, an Open vSwitch, and the API server behind the first
 * NIC. The first has one of everything that a NIC may have, the second addresses and routes of both families.
 */
export class NicNode implements AsyncDisposable {
    readonly node: UplinkNode;
    /** Behind the second NIC. */
    readonly router: TestNetns;
    readonly #pods = new Map<string, TestNetns>();

    private constructor(node: UplinkNode, router: TestNetns) {
        this.node = node;
        this.router = router;
    }

    static async start(): Promise<NicNode> {
        const node = await UplinkNode.start(source);
        const router = new TestNetns("router");
        ipBatch(
            [
                `link add q0 type veth peer name eth1 netns ${process.pid}`,
                "link set q0 up",
                "addr add 10.55.0.1/24 dev q0",
                "addr add fd55::1/64 dev q0 nodad",
            ],
            { netns: router.name },
        );
        setTxChecksumOffload("q0", false, router.path);
        ipBatch([
            "link set eth1 up",
            "addr add 10.55.0.2/24 dev eth1",
            "addr add fd55::2/64 dev eth1 nodad",
            "route add 198.51.101.0/24 via 10.55.0.1 dev eth1",
        ]);
        ipBatch(["route add 2001:db8:55::/48 via fd55::1 dev eth1"], { family: 6 });
        const own = new NicNode(node, router);
        while (node.ip("addr", "show", "dev", "eth1").includes("tentative"))
            await new Promise((resolve) => setTimeout(resolve, 50));
        return own;
    }

    /** Runs an agent's actions to their end, or to the kill. */
    async run(input: Partial<NicProgramInput>): Promise<AgentEnd> {
        const { signal, reported, log } = await this.node.run(this.#whole(input));
        return { signal, reported: reported as unknown as readonly Reported[], log };
    }

    /** Starts an agent and resolves when it prints something; `go` resumes it until its end. */
    async pause(
        input: Partial<NicProgramInput>,
    ): Promise<{ readonly reported: Reported; readonly go: () => Promise<AgentEnd> }> {
        const { reported, go } = await this.node.pause(this.#whole(input));
        const [line = ""] = reported.toString().split("\n");
        return { reported: JSON.parse(line) as Reported, go: go as unknown as () => Promise<AgentEnd> };
    }

    /** All that the Node has, but for what is of OVS. */
    truth(): Readonly<Record<string, unknown>> {
        return this.node.truth(...ownDevices);
    }

    /** The routers that the Node does not reach, of both NICs and both families. */
    unreached(): readonly string[] {
        return ["10.99.0.1", "fd99::1", "10.55.0.1", "fd55::1"].filter((address) => !this.node.reaches(address));
    }

    /** A Pod on the bridge of networks, with an IPv4 address in a VLAN; 0 is none. */
    async addPod(vlan: number, address: string): Promise<TestNetns> {
        const pod = new TestNetns("pod");
        const name = `pod${randomBytes(3).toString("hex")}`;
        this.#pods.set(name, pod);
        execFileSync("ip", ["link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", pod.name]);
        ipBatch([`addr add ${address}/24 dev eth0`, "link set eth0 up"], { netns: pod.name });
        setTxChecksumOffload("eth0", false, pod.path);
        execFileSync("ip", ["link", "set", name, "up"]);
        const port = ["add-port", "br1", name, `tag=${vlan}`, "vlan_mode=access"];
        await this.node.ovs.vsctl(...port);
        return pod;
    }

    async removePods(): Promise<void> {
        for (const [name, pod] of this.#pods) {
            await this.node.ovs.vsctl("del-port", "br1", name);
            // Its other end, which would go only some time after the namespace.
            execFileSync("ip", ["link", "del", name]);
            pod[Symbol.dispose]();
        }
        this.#pods.clear();
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const pod of this.#pods.values()) pod[Symbol.dispose]();
        this.router[Symbol.dispose]();
        await this.node[Symbol.asyncDispose]();
    }

    #whole(input: Partial<NicProgramInput>): Partial<ProgramInput> {
        return { nics: ["eth0", "eth1"], ...input } as unknown as Partial<ProgramInput>;
    }
}

/** Whether a namespace reaches an address, by one answer to three packets. */
export function reachesFrom({ name }: TestNetns, address: string): boolean {
    try {
        execFileSync("ip", ["netns", "exec", name, "ping", "-c3", "-i0.3", "-W1", "-n", address], { stdio: "ignore" });
        return true;
    } catch {
        return false;
    }
}
