import { messageOf } from "@antrea/errors";
import { formatPrefix } from "@antrea/ip";
import { isKubeError, nodes as nodeResource, type ApiClient } from "@antrea/kube";
import type { Clock, Logger } from "@antrea/runtime";
import { NodeConfigError, type NodeConfig } from "./node-config.ts";
import { podCidrsProblem } from "./own-node.ts";

export interface OwnSubnetComponents {
    readonly api: Pick<ApiClient, "find">;
    /** The informer of Nodes. */
    readonly nodes: { readonly upToDateAt: number };
    readonly clock: Clock;
    /** Ends the process, which starts again. */
    readonly fail: (error: unknown) => void;
    readonly logger: Logger;
}

/**
 * For how long what the watch of Nodes said last is enough. A podCIDR of a deleted Node rests for ten minutes before
 * NodeIPAM gives it to another; the Node IPAM of Kubernetes does not wait.
 */
const freshMs = 30_000;
/** The Pod waits for so long for an API server that does not answer. */
const askLimitMs = 2_000;

/**
 * Whether the podCIDRs of this agent are its Node's still, asked of the API server when the watch of Nodes has been silent
 * for a while: the Node may have been deleted meanwhile, and its podCIDRs be another's.
 */
export class OwnSubnet {
    readonly #components: OwnSubnetComponents;
    readonly #node: Pick<NodeConfig, "name" | "podPrefixes">;
    /** By the monotonic clock, when the API server was asked that said so last. */
    #confirmedAt = -Infinity;
    /** What the API server said last, and when it was asked, if the podCIDRs are not the Node's. */
    #lost: { readonly problem: string; readonly at: number } | undefined;
    #asking: Promise<void> | undefined;

    constructor(components: OwnSubnetComponents, node: Pick<NodeConfig, "name" | "podPrefixes">) {
        this.#components = components;
        this.#node = node;
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
     * Resolves when a Pod may get an address of the podCIDRs: the Node has them, or nobody answers, since Pods must start
     * while the API server is away. Rejects with NodeConfigError SUBNET_LOST, or POD_CIDR_CHANGED, which ends
     * the process too. Takes 2 s at most.
     */
    async confirm(): Promise<void> {
        const { nodes, clock } = this.#components;
        if (clock.monotonic() - Math.max(nodes.upToDateAt, this.#confirmedAt) < freshMs) return;
        this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
        await this.#asking;
    }

    async #ask(): Promise<void> {
        const { api, clock, fail, logger } = this.#components;
        const { name, podPrefixes } = this.#node;
        const began = clock.monotonic();
        try {
            const node = await api.find(nodeResource, { name }, { timeoutMs: askLimitMs });
            const problem = podCidrsProblem(node, this.#node);
            this.#lost = problem === undefined ? undefined : { problem, at: began };
            if (problem !== undefined) throw new NodeConfigError("SUBNET_LOST", "environment", problem);
            this.#confirmedAt = began;
        } catch (error) {
            if (error instanceof NodeConfigError && error.code === "POD_CIDR_CHANGED") fail(error);
            if (!isKubeError(error)) throw error;
            logger.info("cannot ask whether the podCIDRs are still this Node's; its Pods get addresses of them", {
                podCIDRs: podPrefixes.map(formatPrefix).join(),
                reason: messageOf(error),
            });
        }
    }
}
