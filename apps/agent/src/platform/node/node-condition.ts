import { nodes, type ApiClient } from "@antrea/kube";

/**
 * A condition in the status of a Node (core/v1 NodeCondition), without its timestamps. The same `status` keeps its
 * lastTransitionTime.
 */
export interface ConditionText {
    readonly type: string;
    readonly status: "True" | "False";
    readonly reason: string;
    readonly message: string;
}

/**
 * Maintains conditions in the status of this Node, by type. Each call reads the Node first and writes only a
 * difference, by a strategic merge patch: conditions of other types are not changed. Calls for one type must not
 * overlap.
 */
export class NodeCondition {
    readonly #api: Pick<ApiClient, "find" | "patch">;
    readonly #nodeName: string;

    constructor(
        components: { readonly api: Pick<ApiClient, "find" | "patch"> },
        options: { readonly nodeName: string },
    ) {
        this.#api = components.api;
        this.#nodeName = options.nodeName;
    }

    /**
     * Writes the condition unless the Node has it already: another client may have changed or removed it. Resolves
     * without a write if the Node object does not exist. Rejects with KubeError; a later call tries again.
     */
    async set(wanted: ConditionText, signal?: AbortSignal): Promise<void> {
        const node = await this.#api.find(nodes, { name: this.#nodeName }, { signal });
        if (node === undefined) return;
        const { type, status, reason, message } = wanted;
        const present = node.status?.conditions?.find((condition) => condition.type === type);
        const isSame = present?.status === status && present.reason === reason && present.message === message;
        if (isSame) return;
        const now = new Date().toISOString();
        const since = present?.status === status ? (present.lastTransitionTime ?? now) : now;
        await this.#patch({ ...wanted, lastHeartbeatTime: now, lastTransitionTime: since }, signal);
    }

    /** Removes the condition of this type, if the Node has it. Rejects with KubeError. */
    async remove(type: string, signal?: AbortSignal): Promise<void> {
        const node = await this.#api.find(nodes, { name: this.#nodeName }, { signal });
        if (node?.status?.conditions?.some((condition) => condition.type === type) !== true) return;
        await this.#patch({ type, $patch: "delete" }, signal);
    }

    /**
     * Like `set`, at the end of the process and within `timeoutMs` milliseconds. Never rejects: on failure or timeout
     * the next agent of this Node updates the condition.
     */
    async setAtEnd(wanted: ConditionText, timeoutMs: number): Promise<void> {
        await this.set(wanted, AbortSignal.timeout(timeoutMs)).catch(() => undefined);
    }

    async #patch(condition: object, signal: AbortSignal | undefined): Promise<void> {
        const body = { status: { conditions: [condition] } };
        await this.#api.patch(
            nodes,
            { name: this.#nodeName },
            { type: "strategic", body },
            { subresource: "status", signal },
        );
    }
}
