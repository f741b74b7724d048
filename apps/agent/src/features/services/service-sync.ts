import type { Clock } from "@antrea/async";
import type { NextTable } from "@antrea/flows";
import type { Family } from "@antrea/ip";
import type { ReconcileResult } from "@antrea/kube";
import type { ServedService, ServiceIndex } from "@antrea/services";
import type { FlowTable } from "../../platform/ovs/flow-table/index.ts";
import { ChangeBundles } from "./change-bundles.ts";
import type { HostStack, PreparedService } from "./host-stack.ts";
import type { LearnedFlows } from "./learned-flows.ts";
import { PortIdTable } from "./port-ids.ts";
import { saltOf } from "./salt.ts";
import type { ServiceEvents } from "./service-events.ts";
import { ServiceSource } from "./service-source.ts";

/** Dependencies of ServiceSync. */
export interface ServiceSyncComponents {
    readonly index: Pick<ServiceIndex, "served">;
    readonly flowTable: Pick<FlowTable, "apply">;
    readonly next: NextTable;
    readonly learned: Pick<LearnedFlows, "changed">;
    readonly events: Pick<ServiceEvents, "report" | "forget">;
    /** The Node's network stack; undefined unless OVS serves the Node itself and clients outside. */
    readonly host: Pick<HostStack, "prepare" | "served"> | undefined;
    readonly isBridging: boolean;
    /** See `Datapath`. */
    readonly keepsFragments: boolean;
    /** Whether OVS has the meter that flows of Services without endpoints use. */
    readonly hasRejectMeter: () => boolean;
    /** OVS has the change of a Service; undefined: nothing is served of it. */
    readonly onChanged: (before: ServedService | undefined, after: ServedService | undefined) => void;
    readonly clock: Clock;
}

/** The owner of the flows of a Service in the flow table. */
function ownerOf(key: string): string {
    return `service/${key}`;
}

/**
 * Brings Services into the flow table, each one by itself and as it is when its turn comes. For `WorkQueue`, which calls
 * for a key at most once at a time.
 */
export class ServiceSync {
    readonly #components: ServiceSyncComponents;
    readonly #bundles: ChangeBundles;
    readonly #ids = new PortIdTable();
    readonly #installed = new Map<string, ServedService>();
    /** Those of which nothing can be served, though they are not ignored. */
    readonly #unserved = new Map<string, ServedService>();
    /** What OVS is about to have. */
    readonly #underWay = new Map<string, ServedService>();
    /** What was sent last and failed: OVS may have it nevertheless, if an answer was lost. */
    readonly #tried = new Map<string, ServedService>();

    constructor(components: ServiceSyncComponents) {
        this.#components = components;
        this.#bundles = new ChangeBundles(components);
    }

    /** The Services that OVS has. */
    get installed(): ReadonlyMap<string, ServedService> {
        return this.#installed;
    }

    /** The Services of which nothing can be served, with their problems; not those that are ignored. */
    get unserved(): Iterable<ServedService> {
        return this.#unserved.values();
    }

    /** What OVS has of Services, and what it may have already of changes under way. */
    *possible(): Generator<ServedService> {
        yield* this.#installed.values();
        yield* this.#underWay.values();
    }

    /**
     * Resolves when OVS has what is to be served of the Service, with the time until it is to be called again. Rejects with
     * OpenFlowError if OVS refuses it, which changes nothing, and if the signal aborts.
     */
    async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
        const { clock, events, host, learned, onChanged } = this.#components;
        const before = this.#installed.get(key);
        const found = this.#components.index.served(key);
        if (found === undefined) events.forget(key);
        const isServed = found !== undefined && found.ports.length > 0;
        if (found === undefined || isServed) this.#unserved.delete(key);
        else this.#unserved.set(key, found);
        if (before === undefined && !isServed) await this.#removeTried(key, signal);
        const prepared = isServed ? host?.prepare(found) : undefined;
        const known = found && withProblems(found, prepared);
        const after = isServed ? known : undefined;
        const eventInMs = known && events.report(known);
        const salt = after && saltOf(after, clock.now());
        if (before === undefined && after === undefined) {
            // a try that OVS refused may have taken some
            this.#ids.keepOnly(key, undefined);
            host?.served(key, undefined);
            return again(eventInMs);
        }
        await this.#send(key, after, { salt: salt?.value ?? 0n, prepared }, signal);
        this.#ids.keepOnly(key, after);
        host?.served(key, after && prepared && { service: after, prepared });
        onChanged(before, after);
        await learned.changed(key, after, prepared?.standIns ?? new Map(), signal);
        return again(eventInMs, salt?.leftMs);
    }

    async #send(
        key: string,
        after: ServedService | undefined,
        { salt, prepared }: { readonly salt: bigint; readonly prepared: PreparedService | undefined },
        signal: AbortSignal,
    ): Promise<void> {
        const { hasRejectMeter, host, isBridging, keepsFragments, next } = this.#components;
        const owner = ownerOf(key);
        if (after === undefined) {
            await this.#bundles.apply({ owner, flows: undefined }, 1, signal);
            this.#installed.delete(key);
            this.#tried.delete(key);
            return;
        }
        this.#tried.set(key, after);
        this.#underWay.set(key, after);
        try {
            const source = new ServiceSource(after, {
                next,
                idsOf: (port) => this.#ids.idsOf(after, port),
                salt,
                bridging: isBridging,
                keepsFragments,
                proxyAll: host !== undefined,
                standIns: prepared?.standIns ?? new Map(),
                withoutMeter: !hasRejectMeter(),
            });
            await this.#bundles.apply({ owner, flows: source }, source.weight, signal);
            this.#installed.set(key, after);
            this.#tried.delete(key);
        } finally {
            this.#underWay.delete(key);
        }
    }

    async #removeTried(key: string, signal: AbortSignal): Promise<void> {
        const tried = this.#tried.get(key);
        if (tried === undefined) return;
        await this.#bundles.apply({ owner: ownerOf(key), flows: undefined }, 1, signal);
        this.#tried.delete(key);
        this.#components.onChanged(tried, undefined);
    }
}

/** Returns the families in which a port of the Service is served, 4 before 6; none if nothing is served of it (undefined). */
export function familiesOf(service: ServedService | undefined): readonly Family[] {
    return ([4, 6] as const).filter((family) => service?.ports.some((port) => port.family === family));
}

function withProblems(service: ServedService, prepared: PreparedService | undefined): ServedService {
    const further = prepared?.problems ?? [];
    return further.length === 0 ? service : { ...service, problems: [...service.problems, ...further] };
}

function again(...delaysMs: readonly (number | undefined)[]): ReconcileResult {
    const due = delaysMs.filter((ms) => ms !== undefined);
    return due.length === 0 ? {} : { requeueAfterMs: Math.min(...due) };
}
