import { messageOf } from "@antrea/errors";
import type { Attachment } from "../../platform/pod-interfaces/index.ts";
import { isFunction } from "./function-wiring.ts";
import type { FurtherInterfacesComponents } from "./further-types.ts";
import { Limit } from "./limit.ts";
import { deletePodLink } from "./link.ts";
import type { NetworkDraft } from "./network-draft.ts";
import type { PortWiring } from "./port-wiring.ts";

const unwireLimitMs = 5_000;

/** Dependencies of FailedAdds. */
export interface FailedAddsComponents extends Pick<
    FurtherInterfacesComponents,
    "clock" | "functions" | "logger" | "netlink" | "pools" | "table"
> {
    readonly ports: Pick<PortWiring, "deletePorts" | "releaseLink">;
}

/**
 * What is undone of ADDs that failed, of interfaces on networks. Called under the lock of the container; methods never reject:
 * what remains is removed by the reconcile.
 */
export class FailedAdds {
    readonly #components: FailedAddsComponents;

    constructor(components: FailedAddsComponents) {
        this.#components = components;
    }

    /** Takes back what was made of the drafts, and frees the allocations of those whose addresses no Pod can use any more. */
    async takeBack(drafts: readonly NetworkDraft[]): Promise<void> {
        const { clock, functions, logger, netlink, ports, table } = this.#components;
        using limit = new Limit(clock, unwireLimitMs, "unwiring");
        const onBridge = drafts.filter(hasPort);
        // Without a record the Pod has got none of its addresses.
        const ended = new Set(onBridge.filter((draft) => table.get(draft) === undefined));
        for (const draft of drafts) table.leave(draft, "release");
        // With its link down no address is in use, whatever becomes of the ports.
        const areDown = await Promise.all(onBridge.map((draft) => ports.releaseLink(draft)));
        for (const [at, draft] of onBridge.entries()) if (areDown[at] === true) ended.add(draft);
        try {
            await ports.deletePorts(onBridge, limit.signal);
            for (const draft of onBridge) {
                await deletePodLink(netlink, draft);
                table.remove(draft);
                ended.add(draft);
            }
            const moved = drafts.filter((draft) => !hasPort(draft));
            const records = moved.flatMap((draft) => table.get(draft)?.record ?? []).filter(isFunction);
            if (await functions.bringHome(records)) {
                const [first] = records;
                if (first !== undefined) await functions.store(first.containerId, limit.signal);
                for (const draft of moved) {
                    table.remove(draft);
                    ended.add(draft);
                }
            }
        } catch (error) {
            logger.warn("further interfaces of a failed ADD are left to the reconcile", {
                container: drafts[0]?.containerId,
                reason: messageOf(error),
            });
        }
        await this.#release([...ended]);
    }

    /**
     * Frees the allocations of interfaces that the ADD removed, or began to remove, and kept them for itself. Of what is not
     * removed yet they are freed once it is; an interface that stays keeps them.
     */
    async giveUp(removed: readonly Attachment[]): Promise<void> {
        const { table } = this.#components;
        const known = removed.filter((one) => table.get(one) !== undefined);
        for (const one of known) if (table.get(one)?.leaving !== undefined) table.leave(one, "release");
        await this.#release(removed.filter((one) => !known.includes(one)));
    }

    async #release(ended: readonly Attachment[]): Promise<void> {
        const { pools } = this.#components;
        if (pools === undefined) return;
        await Promise.all(ended.map(({ containerId, ifName }) => pools.release({ containerId, ifName })));
    }
}

/** Whether a draft is on the bridge: a virtual function is not. */
export function hasPort({ planned }: NetworkDraft): boolean {
    return planned.device === undefined;
}
