import { namespaces as namespaceResource } from "@antrea/kube";
import { startChartServer } from "@antrea/chart/testing/chart-server";
import { PodNamespaces } from "../pod-namespaces.ts";
import { ApiDoor } from "./api-door.ts";
import { LoadNode, placeOf, podNamespace, type Mode } from "./load-node.ts";
import { type LoadPod } from "./load-pod.ts";
import { PlainBridge, copyNetfilter, refuseOtherPorts, type Plain } from "./plain-bridge.ts";

/** The data path of the packets: the agent's, or that of a bridge for comparison. */
export const sides = ["ours", "plain", "ct"] as const;
export type Side = (typeof sides)[number];

/** Between two Pods on one Node, or on two Nodes. */
export type Reach = "same" | "across";

/** Two Pods on the first Node, and one on the second. */
interface Trio {
    readonly from: LoadPod;
    readonly same: LoadPod;
    readonly across: LoadPod;
}

/** Two Nodes with the agent and two with a plain bridge, each pair connected, with Pods on all of them. */
export class Stage implements AsyncDisposable {
    readonly #bridges: readonly PlainBridge[];
    readonly #ours: Trio;
    readonly #plain: Trio;
    readonly #stack: AsyncDisposableStack;
    #current: Plain | undefined;

    private constructor(bridges: readonly PlainBridge[], ours: Trio, plain: Trio, stack: AsyncDisposableStack) {
        this.#bridges = bridges;
        this.#ours = ours;
        this.#plain = plain;
        this.#stack = stack;
    }

    /** All Pods have connectivity when this resolves. */
    static async start(mode: Mode): Promise<Stage> {
        await using stack = new AsyncDisposableStack();
        const server = stack.use(await startChartServer());
        const { api } = server.clients();
        await api.create(namespaceResource, { metadata: { name: podNamespace } });
        const door = stack.use(await ApiDoor.open(server));
        const namespaces = stack.use(new PodNamespaces());
        const connected = async (first: number): Promise<readonly [LoadNode, LoadNode]> => {
            const one = stack.use(await LoadNode.start(first, api));
            const other = stack.use(await LoadNode.start(first + 1, api));
            LoadNode.connect(one, other);
            return [one, other];
        };
        const nodes = await connected(0);
        for (const node of nodes) {
            const { name, address, podCidr } = placeOf(node.index);
            await server.addNode(name, { podCidrs: [podCidr], internalIps: [address] });
            await door.openIn(node.netnsPath);
            await node.startAgent(mode, server);
        }
        const names = ["bench-0", "bench-1", "bench-2", "plain-2-1", "plain-2-2", "plain-3-1"];
        stack.defer(() => namespaces.delete(...names));
        const ours: Trio = {
            from: await nodes[0].addPod(0, namespaces),
            same: await nodes[0].addPod(1, namespaces),
            across: await nodes[1].addPod(2, namespaces),
        };
        const plains = await connected(2);
        for (const node of plains) await node.prepare(mode);
        const bridges = [
            stack.use(await PlainBridge.start(plains[0], mode, plains[1])),
            stack.use(await PlainBridge.start(plains[1], mode, plains[0])),
        ] as const;
        copyNetfilter(nodes, plains);
        const plain: Trio = {
            from: await bridges[0].addPod(namespaces),
            same: await bridges[0].addPod(namespaces),
            across: await bridges[1].addPod(namespaces),
        };
        for (const at of [0, 1] as const) await refuseOtherPorts(nodes[at], plains[at]);
        const stage = new Stage(bridges, ours, plain, stack.move());
        for (const side of sides) for (const reach of ["same", "across"] as const) await stage.#check(side, reach);
        return stage;
    }

    /** The Pods of a side, ready to be measured. */
    async pair(side: Side, reach: Reach): Promise<readonly [from: LoadPod, to: LoadPod]> {
        const trio = side === "ours" ? this.#ours : this.#plain;
        if (side !== "ours" && side !== this.#current) {
            for (const bridge of this.#bridges) await bridge.become(side);
            this.#current = side;
        }
        return [trio.from, trio[reach]];
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }

    async #check(side: Side, reach: Reach): Promise<void> {
        const [from, to] = await this.pair(side, reach);
        await from.reaches(to);
    }
}
