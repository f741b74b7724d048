import { type Clock } from "@antrea/async";
import { isOutOfService } from "@antrea/ipam";
import { type NodeSource } from "./node-addresses.ts";

export interface GoneNodesComponents {
    readonly nodes: Pick<NodeSource, "list" | "onChange">;
    readonly clock: Clock;
}

/** What becomes of addresses that Pods of a Node have, when their Pods are gone. */
export type NodeState =
    | { readonly kind: "present" }
    /** The controller takes them from the Node at once. */
    | { readonly kind: "out-of-service" }
    /** The Node object was deleted at that wall time, in milliseconds; undefined if that was before this agent started. */
    | { readonly kind: "gone"; readonly at: number | undefined };

const maxRemembered = 256;

/** Remembers when Nodes were deleted. */
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
            if (this.#goneAt.size > maxRemembered) this.#goneAt.delete(this.#goneAt.keys().next().value ?? "");
        });
    }

    /** Of a Node, once all Nodes are known. */
    stateOf(name: string): NodeState {
        const node = this.#components.nodes.list().find(({ metadata }) => metadata?.name === name);
        if (node === undefined) return { kind: "gone", at: this.#goneAt.get(name) };
        return { kind: isOutOfService(node) ? "out-of-service" : "present" };
    }

    [Symbol.dispose](): void {
        this.#listener[Symbol.dispose]();
    }
}
