import { isErrorOf, messageOf } from "@antrea/errors";
import { formatPrefix } from "@antrea/ip";
import type { Logger } from "@antrea/runtime";
import { OwnNodeCheck, type OwnNodeAnswer, type OwnNodeCheckComponents } from "../own-node-check.ts";
import { NodeConfigError, type NodeConfig } from "./node-config.ts";
import { podCidrsProblem } from "./own-node.ts";

/** Dependencies of OwnSubnet; the caller starts and closes them. */
export interface OwnSubnetComponents extends OwnNodeCheckComponents {
    /** Ends the process, which is then restarted. */
    readonly fail: (error: unknown) => void;
    readonly logger: Logger;
}

/** How long a Pod waits for an API server that does not answer. */
const askLimitMs = 2_000;

/**
 * Verifies that the podCIDRs of this agent still belong to its Node, by a request to the API server if the Node watch
 * has been silent for 30 s: the Node may have been deleted meanwhile and its podCIDRs reassigned. Follows the informer
 * of Nodes from construction until it is disposed of.
 */
export class OwnSubnet implements Disposable {
    readonly #components: OwnSubnetComponents;
    readonly #node: Pick<NodeConfig, "name" | "podPrefixes">;
    readonly #check: OwnNodeCheck;
    /** The last answer of the API server that the podCIDRs do not belong to the Node, and when it was requested. */
    #lost: { readonly problem: string; readonly at: number } | undefined;

    constructor(components: OwnSubnetComponents, node: Pick<NodeConfig, "name" | "podPrefixes">) {
        this.#components = components;
        this.#node = node;
        this.#check = new OwnNodeCheck(components, { nodeName: node.name, timeoutMs: askLimitMs });
    }

    /** Removes the listener from the informer; a request in progress continues. */
    [Symbol.dispose](): void {
        this.#check[Symbol.dispose]();
    }

    /**
     * Why Pods get no address of the podCIDRs, by the last request. Undefined once the watch is newer, which then
     * decides.
     */
    get problem(): string | undefined {
        if (this.#lost === undefined || this.#components.nodes.upToDateAt > this.#lost.at) return undefined;
        return this.#lost.problem;
    }

    /**
     * Resolves when a Pod may get an address of the podCIDRs: the Node has them according to the watch or an answer, or
     * the API server does not answer (logged), since Pods must start while it is unavailable. Rejects with
     * NodeConfigError SUBNET_LOST, or POD_CIDR_CHANGED, after which the process ends. Takes at most 2 s.
     */
    async confirm(): Promise<void> {
        // A podCIDR of a deleted Node is not reassigned by NodeIPAM for ten minutes; the Node IPAM of Kubernetes does
        // not wait.
        if (this.#check.isFresh) {
            // The loss may have been observed after this Pod was admitted.
            const { changed } = this.#check;
            if (changed !== undefined) refuse(podCidrsProblem(changed.node, this.#node));
            return;
        }
        await this.#check.confirm((answer) => this.#judge(answer));
    }

    #judge(answer: OwnNodeAnswer): boolean {
        const { fail, logger } = this.#components;
        const { overtakenBy } = answer;
        if (overtakenBy !== undefined) refuse(podCidrsProblem(overtakenBy.node, this.#node));
        if (answer.kind === "unanswered") {
            logger.info("cannot verify the podCIDRs of this Node; assigning addresses from them", {
                podCIDRs: this.#node.podPrefixes.map(formatPrefix).join(),
                reason: messageOf(answer.error),
            });
            return false;
        }
        const { node, askedAt } = answer;
        if (overtakenBy !== undefined) {
            // Either may be newer: a Pod gets an address only if both agree. Everything else follows the informer.
            refuse(podCidrsProblem(node, this.#node));
            return false;
        }
        try {
            const problem = podCidrsProblem(node, this.#node);
            this.#lost = problem === undefined ? undefined : { problem, at: askedAt };
            refuse(problem);
            return true;
        } catch (error) {
            if (isErrorOf(NodeConfigError, error, "POD_CIDR_CHANGED")) fail(error);
            throw error;
        }
    }
}

function refuse(problem: string | undefined): void {
    if (problem !== undefined) throw new NodeConfigError("SUBNET_LOST", "environment", problem);
}
