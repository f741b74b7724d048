import { type Clock } from "@antrea/async";
import { isOutOfService } from "@antrea/ipam";
import { type NodeSource } from "./node-addresses.ts";

/** Dependencies of GoneNodes. */
export interface GoneNodesComponents {
    readonly nodes: Pick<NodeSource, "list" | "onChange">;
    readonly clock: Clock;
}

/** State of a Node that determines what happens to the addresses of its Pods once they are deleted. */
export type NodeState =
    | { readonly kind: "present" }
    /** The Node has the out-of-service taint: the controller frees its addresses at once. */
    | { readonly kind: "out-of-service" }
    /**
     * The Node object was deleted at that wall time, in milliseconds, as observed by the watch; undefined if unknown,
     * e.g. if that was before this agent started.
     */
    | { readonly kind: "gone"; readonly at: number | undefined };

const maxEntries = 256;

/**
 * Remembers when Nodes were deleted: the last 256 that this agent observed. Subscribes to `nodes` until it is disposed.
 */
export class GoneNodes {
    readonly #components: GoneNodesComponents;
    readonly #goneAt = new Map<string, number>();
    readonly #listener: Disposable;

    constructor(components: GoneNodesComponents) {
        this.#components = components;
        this.#listener = components.nodes.onChange((type, name) => {
            this.#goneAt.delete(name);
            if (type !== "deleted") return;
            this.#goneAt.set(name, components.clock.now());
            if (this.#goneAt.size > maxEntries) this.#goneAt.delete(this.#goneAt.keys().next().value ?? "");
        });
    }

    /** The state of a Node; meaningful once all Nodes are known: until then every Node may appear as gone. */
    stateOf(name: string): NodeState {
        const node = this.#components.nodes.list().find(({ metadata }) => metadata?.name === name);
        if (node === undefined) return { kind: "gone", at: this.#goneAt.get(name) };
        return { kind: isOutOfService(node) ? "out-of-service" : "present" };
    }

    /** Removes the listener from the Node source. */
    [Symbol.dispose](): void {
        this.#listener[Symbol.dispose]();
    }
}
