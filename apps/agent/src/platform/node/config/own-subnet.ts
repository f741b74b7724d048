import { isErrorOf, messageOf } from "@antrea/errors";
import { formatPrefix } from "@antrea/ip";
import type { Logger } from "@antrea/runtime";
import { OwnNodeCheck, type OwnNodeAnswer, type OwnNodeCheckComponents } from "../own-node-check.ts";
import { NodeConfigError, type NodeConfig } from "./node-config.ts";
import { podCidrsProblem } from "./own-node.ts";

export interface OwnSubnetComponents extends OwnNodeCheckComponents {
    /** Ends the process, which starts again. */
    readonly fail: (error: unknown) => void;
    readonly logger: Logger;
}

/** The Pod waits for so long for an API server that does not answer. */
const askLimitMs = 2_000;

/**
 * Whether the podCIDRs of this agent are its Node's still, asked of the API server when the watch of Nodes has been silent
 * for a while: the Node may have been deleted meanwhile, and its podCIDRs be another's.
 */
export class OwnSubnet {
    readonly #components: OwnSubnetComponents;
    readonly #node: Pick<NodeConfig, "name" | "podPrefixes">;
    readonly #check: OwnNodeCheck;
    /** What the API server said last, and when it was asked, if the podCIDRs are not the Node's. */
    #lost: { readonly problem: string; readonly at: number } | undefined;

    constructor(components: OwnSubnetComponents, node: Pick<NodeConfig, "name" | "podPrefixes">) {
        this.#components = components;
        this.#node = node;
        this.#check = new OwnNodeCheck(components, { nodeName: node.name, timeoutMs: askLimitMs });
    }

    /**
     * Why Pods get no address of the podCIDRs, by what the API server was asked. Undefined once the watch has come further:
     * then it is judged by that.
     */
    get problem(): string | undefined {
        if (this.#lost === undefined || this.#components.nodes.upToDateAt > this.#lost.at) return undefined;
        return this.#lost.problem;
    }

    /**
     * Resolves when a Pod may get an address of the podCIDRs: the Node has them, by the watch or by an answer, or nobody
     * answers, since Pods must start while the API server is away. Rejects with NodeConfigError SUBNET_LOST, or POD_CIDR_CHANGED, which ends
     * the process too. Takes 2 s at most.
     */
    async confirm(): Promise<void> {
        // A podCIDR of a deleted Node rests for ten minutes before NodeIPAM gives it to another; the Node IPAM of Kubernetes
        // does not wait.
        if (this.#check.isFresh) {
            // The loss may have come after this Pod was let in.
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
            // Either may be the newer: a Pod gets an address only by both. All else goes by what the informer delivers.
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
