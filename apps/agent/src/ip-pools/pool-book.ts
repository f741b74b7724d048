import { ipPools, type IpPool, type IpPoolSpec, type IpPoolStatus } from "@antrea/crd";
import {
    IpError,
    parseIp,
    parsePrefix,
    prefixRange,
    RangeIndex,
    rangeOf,
    type IpAddress,
    type Prefix,
    type RangeSet,
} from "@antrea/ip";
import { Exclusions, readPool, type ClusterAddresses, type Pool } from "@antrea/ipam";
import {
    Informer,
    serviceCidrs,
    type ApiClient,
    type ChangeListener,
    type KubeError,
    type KubeLogger,
    type Node,
    type ServiceCidr,
} from "@antrea/kube";

/** The Nodes of the cluster, kept true by somebody else; an Informer of Nodes is one. */
export interface NodeSource {
    list(): readonly Node[];
    onChange(listener: ChangeListener<Node>): Disposable;
    synced(signal?: AbortSignal): Promise<void>;
}

export interface PoolBookComponents {
    readonly api: Pick<ApiClient, "list" | "watch" | "find">;
    readonly logger: KubeLogger;
    readonly nodes: NodeSource;
}

/** An IPPool, what it hands out now, and what the controller says of it. */
export interface KnownPool {
    readonly pool: Pool;
    /** The same object until an input of it changes. */
    readonly usable: RangeSet;
    readonly status: IpPoolStatus | undefined;
}

interface Entry {
    readonly spec: IpPoolSpec;
    readonly pool: Pool;
    readonly status: IpPoolStatus | undefined;
}

/** The IPPools of the cluster and what of them is never handed out, computed again only when an input changes. */
export class PoolBook {
    readonly #components: PoolBookComponents;
    readonly #pools: Informer<IpPool>;
    readonly #services: Informer<ServiceCidr>;
    readonly #entries = new Map<string, Entry>();
    readonly #index = new RangeIndex<Pool>();
    readonly #listeners: Disposable[];
    #exclusions: Exclusions | undefined;
    #ready = false;

    constructor(components: PoolBookComponents) {
        this.#components = components;
        this.#pools = new Informer(components, { resource: ipPools, transform: slimPool });
        this.#services = new Informer(components, { resource: serviceCidrs });
        const forget = (): void => (this.#exclusions = undefined);
        this.#listeners = [
            this.#pools.onChange((type, name, object) => this.#told(type === "deleted", name, object)),
            this.#services.onChange(forget),
            components.nodes.onChange((type, _key, node, old) => {
                if (type !== "updated" || addressesText(node) !== addressesText(old)) forget();
            }),
        ];
    }

    start(signal: AbortSignal): void {
        this.#pools.start(signal);
        this.#services.start(signal);
    }

    async close(): Promise<void> {
        for (const listener of this.#listeners) listener[Symbol.dispose]();
        await Promise.all([this.#pools.close(), this.#services.close()]);
    }

    /** Resolves when everything is known that an address may not be handed out for. */
    async synced(signal: AbortSignal): Promise<void> {
        if (this.#ready) return;
        await Promise.all([this.#pools.synced(signal), this.#services.synced(signal)]);
        await this.#components.nodes.synced(signal);
        this.#ready = true;
    }

    /** Why not everything is known that must be, as far as it is a failure of requests. */
    get lastError(): KubeError | undefined {
        const waiting = [this.#pools, this.#services].map(({ hasSynced, state }) => !hasSynced && state);
        return waiting.flatMap((state) => (state && state.kind === "waiting" ? [state.lastError] : []))[0];
    }

    /** The ranges that Services' addresses are of; undefined while they are not known. */
    get serviceCidrs(): readonly Prefix[] | undefined {
        return this.#services.hasSynced ? this.#cluster().serviceCidrs : undefined;
    }

    /** Called when the ranges of Services may have changed. */
    onServiceCidrs(listener: () => void): Disposable {
        return this.#services.onChange(listener);
    }

    /** An IPPool by name; one that the cache lacks is asked for. Undefined only if the API server says that there is none. */
    async find(name: string, signal: AbortSignal): Promise<KnownPool | undefined> {
        await this.synced(signal);
        const known = this.#entries.get(name);
        if (known !== undefined) return this.#known(known);
        const object = await this.#components.api.find(ipPools, { name }, { signal });
        return object && this.#known(entryOf(object));
    }

    /** The IPPool that has the address in a range, used or not. */
    poolOf(ip: IpAddress): string | undefined {
        return this.#index.overlapping(rangeOf(ip))[0]?.value.name;
    }

    /** The IPPools with a range in the prefix, used or not. */
    poolsWithin(prefix: Prefix): readonly string[] {
        return [...new Set(this.#index.overlapping(prefixRange(prefix)).map(({ value }) => value.name))];
    }

    /** The other IPPools with a range that has an address of this one. */
    overlapping(pool: Pool): readonly string[] {
        const found = pool.subnets.flatMap(({ range }) => this.#index.overlapping(range));
        return [...new Set(found.map(({ value }) => value.name))].filter((name) => name !== pool.name);
    }

    /** Why a pool does not hand an address out, as the end of a sentence; undefined when it does. */
    reason(pool: Pool, ip: IpAddress): string | undefined {
        return this.#currentExclusions().reason(pool, ip);
    }

    #known({ pool, status }: Entry): KnownPool {
        return { pool, usable: this.#currentExclusions().usable(pool), status };
    }

    #told(deleted: boolean, name: string, object: IpPool): void {
        const before = this.#entries.get(name);
        if (deleted) {
            this.#entries.delete(name);
            this.#index.delete(name);
            this.#exclusions = undefined;
            return;
        }
        // The controller writes the status often; the spec and all that follows from it stay the same.
        if (before !== undefined && JSON.stringify(before.spec) === JSON.stringify(object.spec)) {
            this.#entries.set(name, { ...before, status: object.status });
            return;
        }
        const entry = entryOf(object);
        this.#entries.set(name, entry);
        this.#index.set(
            name,
            entry.pool.subnets.map(({ range }) => range),
            entry.pool,
        );
        this.#exclusions = undefined;
    }

    #currentExclusions(): Exclusions {
        if (this.#exclusions !== undefined) return this.#exclusions;
        const pools = [...this.#entries.values()].map(({ pool }) => pool);
        return (this.#exclusions = new Exclusions(this.#cluster(), pools));
    }

    #cluster(): ClusterAddresses {
        const nodes = this.#components.nodes.list();
        return {
            nodeAddresses: nodes.flatMap((node) =>
                (node.status?.addresses ?? []).flatMap(({ address }) => readable(parseIp, address)),
            ),
            podCidrs: nodes.flatMap((node) => podCidrsOf(node).flatMap((text) => readable(parsePrefix, text))),
            serviceCidrs: this.#services
                .list()
                .flatMap(({ spec }) => (spec?.cidrs ?? []).flatMap((text) => readable(parsePrefix, text))),
        };
    }
}

function entryOf(object: IpPool): Entry {
    return { spec: object.spec, pool: readPool(object), status: object.status };
}

function slimPool({ metadata, spec, status }: IpPool): IpPool {
    const { name = "", uid = "", resourceVersion = "" } = metadata ?? {};
    const slim = { metadata: { name, uid, resourceVersion }, spec };
    if (status === undefined) return slim;
    const { usage, freeBlocks } = status;
    return { ...slim, status: { ...(usage && { usage }), ...(freeBlocks && { freeBlocks }) } };
}

function podCidrsOf({ spec }: Node): readonly string[] {
    return spec?.podCIDRs ?? (spec?.podCIDR === undefined ? [] : [spec.podCIDR]);
}

function addressesText(node: Node | undefined): string {
    return node === undefined ? "" : JSON.stringify([podCidrsOf(node), node.status?.addresses]);
}

/** Host names and text that is no address keep nothing from being handed out. */
function readable<T extends IpAddress | Prefix>(read: (text: string) => T, text: string): readonly T[] {
    try {
        return [read(text)];
    } catch (error) {
        if (error instanceof IpError) return [];
        throw error;
    }
}
