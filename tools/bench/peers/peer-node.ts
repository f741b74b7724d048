import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { PrivateOvs } from "@antrea/openflow/testing";
import { type TestApiServer } from "@antrea/kube/testing";
import { AgentUnderTest } from "../agent.ts";
import { agentKubeconfig } from "@antrea/chart/testing/chart-server";
import { type Gates } from "../controller.ts";
import { BenchError } from "../error.ts";
import { addAddresses, addPhyBridge, phyBridge } from "../phy-bridge.ts";
import { RouteArrivals } from "./route-arrivals.ts";
import { ownAddresses, prefixLengths } from "./simulated-peers.ts";

export type Mode = "encap" | "noEncap";

/** Name of the Node with the agent. */
export const ownNode = "bench-peers";
/** podCIDRs of the Node with the agent. */
export const ownPodCidrs = ["10.10.0.0/24", "fd00:10:0:1::/64"] as const;
/** The agent's bridge. */
export const bridge = "br-int";

const nic = "bench-nic";
const limitMs = 120_000;
const pollMs = 5;

/** The Node with the agent, whose peers are only objects; newly installed at each start. */
export class PeerNode implements AsyncDisposable {
    readonly ovs: PrivateOvs;
    readonly agent: AgentUnderTest;
    readonly #mode: Mode;
    readonly #routes: RouteArrivals;
    readonly #stack: AsyncDisposableStack;

    private constructor(
        mode: Mode,
        parts: { readonly ovs: PrivateOvs; readonly agent: AgentUnderTest; readonly routes: RouteArrivals },
        stack: AsyncDisposableStack,
    ) {
        this.ovs = parts.ovs;
        this.agent = parts.agent;
        this.#routes = parts.routes;
        this.#mode = mode;
        this.#stack = stack;
    }

    /** Resolves as soon as the agent's process has started. The Node's object must exist. */
    static async start(mode: Mode, server: TestApiServer, featureGates: Gates = {}): Promise<PeerNode> {
        await using stack = new AsyncDisposableStack();
        stack.defer(removeDevices);
        const ovs = stack.use(await PrivateOvs.start());
        execFileSync("ip", ["link", "add", nic, "type", "veth", "peer", "name", `${nic}-far`]);
        execFileSync("ip", ["link", "set", `${nic}-far`, "up"]);
        execFileSync("ip", ["link", "set", nic, "up"]);
        const addresses = ownAddresses.map((address, at) => `${address}/${prefixLengths[at]}`);
        if (mode === "encap") await addPhyBridge(ovs, { nic, mac: "02:00:ac:14:00:01", addresses });
        else addAddresses(nic, addresses);
        const transportInterface = mode === "encap" ? phyBridge : nic;
        const routes = stack.use(new RouteArrivals());
        const agent = stack.use(
            new AgentUnderTest({
                nodeName: ownNode,
                kubeconfig: await agentKubeconfig(server, ownNode),
                ovsRunDir: ovs.runDir,
                featureGates,
                config: { trafficEncapMode: mode, transportInterface },
            }),
        );
        return new PeerNode(mode, { ovs, agent, routes }, stack.move());
    }

    /**
     * Waits until the node routes to so many dual-stack peers are installed; returns the seconds from the agent's
     * start.
     */
    async allRoutes(peers: number): Promise<number> {
        // Routes are last: the flows that they depend on are installed before.
        let end = await this.#routes.all(2 * peers, limitMs);
        const wanted = this.#mode === "encap" ? 2 * peers : 0;
        const limit = performance.now() + limitMs;
        while ((await this.#tunnelFlows()) !== wanted) {
            end = performance.now();
            if (end > limit) throw new BenchError("NOT_READY", "environment", "not all flows to peers came");
            await sleep(pollMs);
        }
        return (end - this.agent.startedAt) / 1000;
    }

    /** Number of OpenFlow messages that ovs-vswitchd has received since its start. */
    async messages(): Promise<number> {
        return Number(await this.ovs.appctl("coverage/read-counter", "vconn_received"));
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }

    async #tunnelFlows(): Promise<number> {
        const text = await this.ovs.ofctl("--no-stats", "dump-flows", bridge);
        return text.split("\n").filter((line) => line.includes("->tun_dst")).length;
    }
}

/** Tap devices outlive ovs-vswitchd, and routes are removed with their link. */
function removeDevices(): void {
    for (const device of [nic, "antrea-gw0", bridge, phyBridge]) {
        try {
            execFileSync("ip", ["link", "delete", device], { stdio: "ignore" });
        } catch {
            // did not exist
        }
    }
    execFileSync("nft", ["flush", "ruleset"]);
}
