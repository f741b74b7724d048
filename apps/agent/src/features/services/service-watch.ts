import { AsyncError, withTimeout, type Clock } from "@antrea/async";
import { isErrorOf } from "@antrea/errors";
import { endpointSlices, Informer, keyOf, services, type InformerComponents, type Node } from "@antrea/kube";
import {
    headlessLabel,
    serviceNameLabel,
    slimService,
    slimSlice,
    triggerTimeAnnotation,
    type ServiceIndex,
    type ServiceObject,
    type ServiceObjects,
    type SliceObject,
} from "@antrea/services";
import { inSlices } from "../../platform/slices.ts";
import type { ProxyMetrics } from "./metrics.ts";

/** Dependencies of ServiceWatch. */
export interface ServiceWatchComponents extends InformerComponents {
    readonly clock: Clock;
    readonly index: ServiceIndex;
    /** The Nodes, watched by others. */
    readonly nodes: Pick<Informer<Node>, "onChange">;
    /** Called with the key of each Service of which something else may be served, once both lists are complete. */
    readonly mark: (key: string) => void;
    /** Called with the key of each Service of which objects may have changed, once both lists are complete. */
    readonly objectsChanged: (key: string) => void;
    readonly metrics: Pick<ProxyMetrics, "endpointsUpdated" | "serviceUpdated">;
}

/**
 * Watches Services and EndpointSlices, slimmed, and reports which Services a change concerns. Nothing is reported until both
 * lists are complete: endpoints without their Service, or a Service without its endpoints, are no reason to change
 * anything. The owner starts and closes it.
 */
export class ServiceWatch {
    readonly #components: ServiceWatchComponents;
    readonly #services: Informer<ServiceObject>;
    readonly #slices: Informer<SliceObject>;
    /** By Service: when the oldest change was triggered that OVS does not have yet; milliseconds since 1970. */
    readonly #triggers = new Map<string, number>();
    /** The keys of objects that `restore` has added. */
    readonly #restored = { services: new Set<string>(), slices: new Set<string>() };
    readonly #listeners = new DisposableStack();
    #areListsKnown = false;

    constructor(components: ServiceWatchComponents) {
        this.#components = components;
        this.#services = new Informer(components, { resource: services, transform: slimService });
        this.#slices = new Informer(components, {
            resource: endpointSlices,
            labelSelector: `${serviceNameLabel},!${headlessLabel}`,
            transform: slimSlice,
        });
    }

    /** Starts the watches, once. */
    start(signal: AbortSignal): void {
        const { index, metrics, nodes } = this.#components;
        this.#services.start(signal);
        this.#slices.start(signal);
        this.#listeners.use(
            this.#services.onChange((type, key, object) => {
                if (this.#areListsKnown) metrics.serviceUpdated(familiesIn(object));
                this.#changed(type === "deleted" ? index.deleteService(key) : index.setService(object));
            }),
        );
        this.#listeners.use(
            this.#slices.onChange((type, key, object) => {
                if (this.#areListsKnown) metrics.endpointsUpdated(object.addressType);
                const touched = type === "deleted" ? index.deleteSlice(key) : index.setSlice(object);
                // the annotation of a slice that is gone has the time of an earlier change
                if (type !== "deleted") this.#noteTrigger(object, touched);
                this.#changed(touched);
            }),
        );
        this.#listeners.use(
            nodes.onChange((type, key, object) => {
                this.#mark(type === "deleted" ? index.deleteNode(key) : index.setNode(object));
            }),
        );
    }

    /** Resolves with whether both lists are complete after this time at the latest. Rejects if the signal aborts. */
    async isCompleteWithin(ms: number, signal: AbortSignal): Promise<boolean> {
        const { clock } = this.#components;
        try {
            await withTimeout((limit) => this.#complete(limit), ms, signal, { clock });
            return true;
        } catch (error) {
            if (isErrorOf<AsyncError, "TIMEOUT">(AsyncError, error, "TIMEOUT")) return false;
            throw error;
        }
    }

    /**
     * Adds Services as they were last known, before `synced`; nothing of a kind whose list is complete by now. Resolves with
     * the keys of those among them of which something is served. Services that only the list has are not returned: their
     * endpoints may not be known yet.
     */
    async restore(known: Iterable<ServiceObjects>): Promise<readonly string[]> {
        const { index } = this.#components;
        const keys = new Set<string>();
        await inSlices(known, ({ service, slices }) => {
            keys.add(keyOf(service));
            if (!this.#services.hasSynced) {
                index.setService(service);
                this.#restored.services.add(keyOf(service));
            }
            for (const slice of this.#slices.hasSynced ? [] : slices) {
                index.setSlice(slice);
                this.#restored.slices.add(keyOf(slice));
            }
        });
        return index.keys.filter((key) => keys.has(key));
    }

    /**
     * Resolves when both lists are complete, with the keys of all Services of which something is served, or was by
     * `restore`; from then on changes are reported. Rejects with KubeError `ABORTED` if the signal aborts.
     */
    async synced(signal: AbortSignal): Promise<readonly string[]> {
        await this.#complete(signal);
        const { index } = this.#components;
        const { services: restored, slices } = this.#restored;
        for (const key of restored) if (this.#services.get(key) === undefined) index.deleteService(key);
        for (const key of slices) if (this.#slices.get(key) === undefined) index.deleteSlice(key);
        this.#areListsKnown = true;
        const keys = new Set([...index.keys, ...restored]);
        for (const set of [restored, slices]) set.clear();
        return [...keys];
    }

    /**
     * Takes the time at which the oldest change of the Service's endpoints was triggered that was not taken yet, in
     * milliseconds since 1970; undefined if none is known.
     */
    takeTrigger(key: string): number | undefined {
        const at = this.#triggers.get(key);
        this.#triggers.delete(key);
        return at;
    }

    /** Gives back what `takeTrigger` returned, as OVS does not have the change; milliseconds since 1970. */
    returnTrigger(key: string, at: number | undefined): void {
        // it is older than one that was noted meanwhile
        if (at !== undefined) this.#triggers.set(key, at);
    }

    /** Ends the watches. Never rejects. */
    async close(): Promise<void> {
        this.#listeners.dispose();
        await Promise.all([this.#services.close(), this.#slices.close()]);
    }

    async #complete(signal: AbortSignal): Promise<void> {
        await Promise.all([this.#services.synced(signal), this.#slices.synced(signal)]);
    }

    #changed(keys: ReadonlySet<string>): void {
        this.#mark(keys);
        if (this.#areListsKnown) for (const key of keys) this.#components.objectsChanged(key);
    }

    #mark(keys: ReadonlySet<string>): void {
        if (this.#areListsKnown) for (const key of keys) this.#components.mark(key);
    }

    #noteTrigger({ metadata }: SliceObject, touched: ReadonlySet<string>): void {
        const at = Date.parse(metadata?.annotations?.[triggerTimeAnnotation] ?? "");
        if (!this.#areListsKnown || Number.isNaN(at)) return;
        for (const key of touched) if (!this.#triggers.has(key)) this.#triggers.set(key, at);
    }
}

function familiesIn({ spec }: ServiceObject): readonly (4 | 6)[] {
    const ips = spec?.clusterIPs ?? [];
    return ([4, 6] as const).filter((family) => ips.some((ip) => ip.includes(":") === (family === 6)));
}
