import { namespaces as namespaceResource } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { PodNamespaces } from "../pod-namespaces.ts";
import { ApiDoor } from "./api-door.ts";
import { LoadNode, placeOf, podNamespace, type Mode } from "./load-node.ts";
import { type LoadPod } from "./load-pod.ts";
import { PlainBridge, type Plain } from "./plain-bridge.ts";

/** Whose way the packets take: the agent's, or that of the bridge beside it. */
export const sides = ["ours", "plain", "ct"] as const;
export type Side = (typeof sides)[number];

/** From one Pod to another of its Node, or to one of the other Node. */
export type Reach = "same" | "across";

/** Two Pods on the first Node, and one on the second. */
interface Trio {
    readonly from: LoadPod;
    readonly same: LoadPod;
    readonly across: LoadPod;
}

/** Two Nodes with a cable between them, each with the agent's bridge and a plain one, and Pods on all of them. */
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

    /** All Pods reach each other when this resolves. */
    static async start(mode: Mode): Promise<Stage> {
        await using stack = new AsyncDisposableStack();
        const server = stack.use(await TestApiServer.start());
        const { api } = server.clients();
        await api.create(namespaceResource, { metadata: { name: podNamespace } });
        const door = stack.use(await ApiDoor.open(server));
        const namespaces = stack.use(new PodNamespaces());
        const node = async (index: number): Promise<LoadNode> => {
            const { name, address, podCidr } = placeOf(index);
            await server.addNode(name, { podCidrs: [podCidr], internalIps: [address] });
            const started = stack.use(await LoadNode.start(index, api));
            await door.openIn(started.netnsPath);
            return started;
        };
        const [one, other] = [await node(0), await node(1)];
        LoadNode.connect(one, other);
        await one.startAgent(mode, server);
        await other.startAgent(mode, server);
        const names = ["bench-0", "bench-1", "bench-2", "plain-0-1", "plain-0-2", "plain-1-1"];
        stack.defer(() => namespaces.delete(...names));
        const ours: Trio = {
            from: await one.addPod(0, namespaces),
            same: await one.addPod(1, namespaces),
            across: await other.addPod(2, namespaces),
        };
        const bridges = [
            stack.use(await PlainBridge.start(one, mode)),
            stack.use(await PlainBridge.start(other, mode)),
        ] as const;
        const plain: Trio = {
            from: await bridges[0].addPod(namespaces),
            same: await bridges[0].addPod(namespaces),
            across: await bridges[1].addPod(namespaces),
        };
        const stage = new Stage(bridges, ours, plain, stack.move());
        for (const side of sides) for (const reach of ["same", "across"] as const) await stage.#check(side, reach);
        return stage;
    }

    /** The Pods of a side, which are ready to be measured. */
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
