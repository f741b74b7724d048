import { isErrorOf } from "@antrea/errors";
import { OpenFlowError } from "@antrea/openflow";
import type { FlowTable, OwnerChange } from "../../platform/ovs/flow-table/index.ts";

/** Flows, groups and buckets of a bundle: OVS forwards nothing while it applies one. */
const bundleWeight = 1_000;

interface Waiting {
    readonly change: OwnerChange;
    readonly weight: number;
    readonly done: PromiseWithResolvers<void>;
}

/**
 * Sends the changes of Services that come in one turn of the event loop in as few bundles as possible: ten thousand
 * Services at a start would else need as many answers of OVS. If OVS refuses a bundle, each of its changes is sent alone.
 */
export class ChangeBundles {
    readonly #flowTable: Pick<FlowTable, "apply">;
    #waiting: Waiting[] = [];

    constructor({ flowTable }: { readonly flowTable: Pick<FlowTable, "apply"> }) {
        this.#flowTable = flowTable;
    }

    /**
     * Resolves when OVS has the change. At most one change of an owner may be under way.
     *
     * @param weight number of its flows, groups and buckets
     * @param signal ends the wait; that of the first change counts for all of its turn
     * @throws as `FlowTable.apply`
     */
    apply(change: OwnerChange, weight: number, signal: AbortSignal): Promise<void> {
        if (this.#waiting.length === 0) setImmediate(() => this.#send(signal));
        const done = Promise.withResolvers<void>();
        this.#waiting.push({ change, weight, done });
        return done.promise;
    }

    #send(signal: AbortSignal): void {
        const all = this.#waiting;
        this.#waiting = [];
        let bundle: Waiting[] = [];
        let weight = 0;
        for (const one of all) {
            if (bundle.length > 0 && weight + one.weight > bundleWeight) {
                void this.#apply(bundle, signal);
                [bundle, weight] = [[], 0];
            }
            bundle.push(one);
            weight += one.weight;
        }
        void this.#apply(bundle, signal);
    }

    /** Never rejects: each change has its own result. */
    async #apply(bundle: readonly Waiting[], signal: AbortSignal): Promise<void> {
        try {
            await this.#flowTable.apply(
                bundle.map(({ change }) => change),
                signal,
            );
            for (const { done } of bundle) done.resolve();
        } catch (error) {
            if (bundle.length > 1 && isErrorOf(OpenFlowError, error, "REFUSED")) {
                await Promise.all(bundle.map((one) => this.#apply([one], signal)));
            } else {
                for (const { done } of bundle) done.reject(error);
            }
        }
    }
}
