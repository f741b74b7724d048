import { type Clock } from "@antrea/async";
import {
    isKubeError,
    nodes as nodeResource,
    type ApiClient,
    type ChangeListener,
    type KubeError,
    type Node,
} from "@antrea/kube";

export interface OwnNodeCheckComponents {
    readonly api: Pick<ApiClient, "find">;
    /** The informer of Nodes. */
    readonly nodes: {
        /** By the monotonic clock: what happened to Nodes before this is known. */
        readonly upToDateAt: number;
        readonly hasSynced: boolean;
        /** Says at once what is known. */
        onChange(listener: ChangeListener<Node>): unknown;
    };
    readonly clock: Clock;
}

export interface OwnNodeCheckOptions {
    readonly nodeName: string;
    /** How long the API server has to answer. */
    readonly timeoutMs: number;
}

/** What became of one GET of the Node. */
export type OwnNodeAnswer = Overtaken &
    (
        | {
              readonly kind: "answered";
              /** Undefined: there is no such Node. */
              readonly node: Node | undefined;
              /** By the monotonic clock, when the API server was asked. */
              readonly askedAt: number;
          }
        | { readonly kind: "unanswered"; readonly error: KubeError }
    );

interface Overtaken {
    /**
     * The Node by the informer, if that has delivered a change of it since the API server was asked: the answer may be older
     * than this change, which no later event would repeat.
     */
    readonly overtakenBy: { readonly node: Node | undefined } | undefined;
}

/** For how long what the informer or an answer said is enough. */
const freshMs = 30_000;

/** Asks the API server for this agent's Node when the watch of Nodes has been silent for 30 s. */
export class OwnNodeCheck {
    readonly #components: OwnNodeCheckComponents;
    readonly #options: OwnNodeCheckOptions;
    /** What the informer said last of the Node; a new object with each change. */
    #delivered: { readonly node: Node | undefined } | undefined;
    /** By the monotonic clock, when the API server was asked that said last that the Node is as it should be. */
    #confirmedAt = -Infinity;
    #asking: Promise<void> | undefined;

    constructor(components: OwnNodeCheckComponents, options: OwnNodeCheckOptions) {
        this.#components = components;
        this.#options = options;
        components.nodes.onChange((type, name, node) => {
            if (name === options.nodeName) this.#note(type === "deleted" ? undefined : node);
        });
    }

    /** An answer before this may be older: it confirms nothing any more. */
    #note(node: Node | undefined): void {
        this.#delivered = { node };
        this.#confirmedAt = -Infinity;
    }

    /** What the informer said last; undefined before its first list. That a Node is not in that list is no change to deliver. */
    #hear(): { readonly node: Node | undefined } | undefined {
        if (this.#delivered === undefined && this.#components.nodes.hasSynced) this.#note(undefined);
        return this.#delivered;
    }

    /** Whether what is known, by the informer or by an answer that confirmed it, is less than 30 s old. */
    get isFresh(): boolean {
        const { clock, nodes } = this.#components;
        this.#hear();
        return clock.monotonic() - Math.max(nodes.upToDateAt, this.#confirmedAt) < freshMs;
    }

    /**
     * The Node by what the informer has delivered, or that its first list is without it; undefined before that list, or when
     * the answer to a later question confirmed the Node since.
     */
    get changed(): { readonly node: Node | undefined } | undefined {
        const delivered = this.#hear();
        return this.#components.nodes.upToDateAt >= this.#confirmedAt ? delivered : undefined;
    }

    /**
     * Asks once for all who call meanwhile. The `judge` of the first says whether the Node is as it should be, which is
     * enough for another 30 s. Rejects for all of them with what it throws.
     */
    confirm(judge: (answer: OwnNodeAnswer) => boolean): Promise<void> {
        const judged = (answer: OwnNodeAnswer): void => {
            if (judge(answer) && answer.kind === "answered") this.#confirmedAt = answer.askedAt;
        };
        this.#asking ??= this.ask(judged).finally(() => (this.#asking = undefined));
        return this.#asking;
    }

    /** Asks, and judges before the informer can deliver more. Rejects with what `judge` throws. */
    async ask<T>(judge: (answer: OwnNodeAnswer) => T): Promise<T> {
        const { api, clock } = this.#components;
        const { nodeName: name, timeoutMs } = this.#options;
        const [askedAt, before] = [clock.monotonic(), this.#hear()];
        const overtakenBy = (): Overtaken["overtakenBy"] => (this.#hear() === before ? undefined : this.#hear());
        let node: Node | undefined;
        try {
            node = await api.find(nodeResource, { name }, { timeoutMs });
        } catch (error) {
            if (!isKubeError(error)) throw error;
            return judge({ kind: "unanswered", error, overtakenBy: overtakenBy() });
        }
        return judge({ kind: "answered", node, askedAt, overtakenBy: overtakenBy() });
    }
}
