import { type Clock } from "@antrea/async";
import {
    isKubeError,
    nodes as nodeResource,
    type ApiClient,
    type ChangeListener,
    type KubeError,
    type Node,
} from "@antrea/kube";

/** Dependencies of OwnNodeCheck; the caller starts and closes the informer. */
export interface OwnNodeCheckComponents {
    readonly api: Pick<ApiClient, "find">;
    /** The informer of Nodes. */
    readonly nodes: {
        /**
         * Time up to which Node changes are known, in milliseconds of the monotonic clock; -Infinity before the first
         * list.
         */
        readonly upToDateAt: number;
        readonly hasSynced: boolean;
        /** Also calls the listener at once with what is known; disposing of the result removes it. */
        onChange(listener: ChangeListener<Node>): Disposable;
    };
    readonly clock: Clock;
}

/** Settings of OwnNodeCheck: whose object it checks, and for how long. */
export interface OwnNodeCheckOptions {
    readonly nodeName: string;
    /** Time limit of a request to the API server, in milliseconds. */
    readonly timeoutMs: number;
}

/** The outcome of one GET of this agent's Node; `unanswered` is any error but NOT_FOUND, also FORBIDDEN. */
export type OwnNodeAnswer = Overtaken &
    (
        | {
              readonly kind: "answered";
              /** Undefined: the Node does not exist. */
              readonly node: Node | undefined;
              /** Monotonic time of the request, in milliseconds. */
              readonly askedAt: number;
          }
        | { readonly kind: "unanswered"; readonly error: KubeError }
    );

interface Overtaken {
    /**
     * The Node from the informer, if it has delivered a change since the request: the answer may be older than this
     * change, which would not be delivered again.
     */
    readonly overtakenBy: { readonly node: Node | undefined } | undefined;
}

/** How long information of the informer or of an answer is sufficient. */
const freshMs = 30_000;

/**
 * Confirms the state of this agent's Node by requests to the API server, for decisions that must not rely on a silent
 * watch: if not `isFresh`, the caller calls `confirm` or `ask`, the only methods that request anything. Follows the
 * informer of `components.nodes` from construction on until it is disposed of.
 */
export class OwnNodeCheck implements Disposable {
    readonly #components: OwnNodeCheckComponents;
    readonly #options: OwnNodeCheckOptions;
    /** The last state of the Node delivered by the informer; a new object on each change. */
    #delivered: { readonly node: Node | undefined } | undefined;
    /** Monotonic time of the last request whose answer was accepted by `judge`. */
    #confirmedAt = -Infinity;
    #asking: Promise<void> | undefined;
    readonly #listener: Disposable;

    constructor(components: OwnNodeCheckComponents, options: OwnNodeCheckOptions) {
        this.#components = components;
        this.#options = options;
        this.#listener = components.nodes.onChange((type, name, node) => {
            if (name === options.nodeName) this.#note(type === "deleted" ? undefined : node);
        });
    }

    /** Removes the listener from the informer; a request in progress continues. */
    [Symbol.dispose](): void {
        this.#listener[Symbol.dispose]();
    }

    /** An earlier answer may be older than this change, so it no longer confirms anything. */
    #note(node: Node | undefined): void {
        this.#delivered = { node };
        this.#confirmedAt = -Infinity;
    }

    /**
     * The last state from the informer; undefined before its first list. A Node missing in that list is not delivered
     * as a change.
     */
    #hear(): { readonly node: Node | undefined } | undefined {
        if (this.#delivered === undefined && this.#components.nodes.hasSynced) this.#note(undefined);
        return this.#delivered;
    }

    /** Whether the information, from the informer or from an answer that confirmed it, is less than 30 s old. */
    get isFresh(): boolean {
        const { clock, nodes } = this.#components;
        this.#hear();
        return clock.monotonic() - Math.max(nodes.upToDateAt, this.#confirmedAt) < freshMs;
    }

    /**
     * The Node as last delivered by the informer, or its absence from the first list; undefined before that list, or if
     * the answer to a later request has confirmed the Node since.
     */
    get changed(): { readonly node: Node | undefined } | undefined {
        const delivered = this.#hear();
        return this.#components.nodes.upToDateAt >= this.#confirmedAt ? delivered : undefined;
    }

    /**
     * Makes one request for all concurrent callers, even if `isFresh`. The `judge` of the first caller returns whether
     * the Node is as expected, which is then sufficient for 30 s. Rejects for all of them with what it throws.
     */
    confirm(judge: (answer: OwnNodeAnswer) => boolean): Promise<void> {
        const judged = (answer: OwnNodeAnswer): void => {
            if (judge(answer) && answer.kind === "answered") this.#confirmedAt = answer.askedAt;
        };
        this.#asking ??= this.ask(judged).finally(() => (this.#asking = undefined));
        return this.#asking;
    }

    /**
     * Makes a request and resolves with the result of `judge`, which is called before the informer can deliver more.
     * Rejects with what `judge` throws, or an error that is no KubeError.
     */
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
