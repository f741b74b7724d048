import { formatIp, type IpAddress } from "@antrea/ip";
import { ipsIn } from "./addresses.ts";
import { AddressIndex } from "./address-index.ts";
import { ownNodeOf, type OwnNode } from "./endpoints.ts";
import { explainService, type NodeView, type ServiceExplanation } from "./explanation.ts";
import {
    keyOf,
    serviceKeyOf,
    type EndpointObject,
    type NodeObject,
    type ServiceObject,
    type ServiceObjects,
    type SliceObject,
} from "./objects.ts";
import { planService, triplesOf } from "./plan.ts";
import { clusterAddresses, externalAddresses } from "./planned-addresses.ts";
import { sameService, sameSlice } from "./same.ts";
import { type ServedService } from "./served.ts";
import { computeService, type ServiceContext } from "./compute-service.ts";
import { ServiceFilter, type IgnoredReason, type ServiceSettings } from "./settings.ts";
import { TripleOwners } from "./triple-owners.ts";

interface Entry {
    service: ServiceObject | undefined;
    /** Each of another name. */
    slices: readonly SliceObject[];
}

const none: ReadonlySet<string> = new Set();

/**
 * All Services of a cluster with their EndpointSlices, and the Nodes. It does not watch: its owner reports each change, in
 * any order, and gets the keys (`namespace/name`) of the Services of which something else may be served than before.
 *
 * Of other Services than that of the object a key is only returned if what is served of it did change. That includes
 * Services that lose or get a triple (address, protocol, port). A change that concerns nothing that is served returns
 * nothing. So a change costs as much as its Service has addresses and ports, except those of the own Node's zone and
 * addresses, which go through all endpoints.
 *
 * Nothing is computed but by `served`. The index keeps the objects that it gets: they should be those of the informers,
 * as `slimService` and `slimSlice` make them. No object of the API server makes it throw.
 */
export class ServiceIndex {
    readonly #settings: ServiceSettings;
    readonly #filter: ServiceFilter;
    readonly #entries = new Map<string, Entry>();
    /** By the key of an EndpointSlice that of its Service. */
    readonly #serviceOf = new Map<string, string>();
    readonly #addresses = new AddressIndex();
    readonly #owners = new TripleOwners();
    #node: OwnNode;

    constructor(settings: ServiceSettings) {
        this.#settings = settings;
        this.#filter = new ServiceFilter(settings);
        this.#node = ownNodeOf(settings.nodeName, undefined);
    }

    /** The keys of all Services of which something is served. */
    get keys(): readonly string[] {
        return [...this.#entries.keys()].filter((key) => this.#isServed(key));
    }

    /** Adds or replaces a Service. */
    setService(service: ServiceObject): ReadonlySet<string> {
        return this.#replaceService(keyOf(service), service);
    }

    /** Removes a Service, if it is known. */
    deleteService(key: string): ReadonlySet<string> {
        return this.#replaceService(key, undefined);
    }

    /** Adds or replaces an EndpointSlice. */
    setSlice(slice: SliceObject): ReadonlySet<string> {
        return this.#replaceSlice(keyOf(slice), slice);
    }

    /** Removes the EndpointSlice of this key (`namespace/name`), if it is known. */
    deleteSlice(key: string): ReadonlySet<string> {
        return this.#replaceSlice(key, undefined);
    }

    /** Adds or replaces a Node. */
    setNode(node: NodeObject): ReadonlySet<string> {
        return this.#replaceNode(node.metadata?.name ?? "", node);
    }

    /** Removes a Node, if it is known. */
    deleteNode(name: string): ReadonlySet<string> {
        return this.#replaceNode(name, undefined);
    }

    /** Computes what is served of a Service now; undefined if it is unknown or ignored. */
    served(key: string): ServedService | undefined {
        const entry = this.#entries.get(key);
        if (entry?.service === undefined || this.#filter.ignored(entry.service) !== undefined) return undefined;
        return computeService(entry.service, entry.slices, this.#context(this.#settings, this.#node));
    }

    /**
     * Computes what is served of a Service on any Node, and why each endpoint is chosen there or not; undefined as for
     * `served`. The settings must have the families of all Nodes, and SCTP if one of them has it.
     */
    explain(key: string, { node, families, sctp }: NodeView): ServiceExplanation | undefined {
        const entry = this.#entries.get(key);
        if (entry?.service === undefined || this.#filter.ignored(entry.service) !== undefined) return undefined;
        const nodeName = keyOf(node);
        const settings = { ...this.#settings, nodeName, families, sctp };
        return explainService(entry.service, entry.slices, this.#context(settings, ownNodeOf(nodeName, node)));
    }

    /** The objects of a Service of which something is served; undefined for all others. */
    objects(key: string): ServiceObjects | undefined {
        const { service, slices = [] } = this.#entries.get(key) ?? {};
        return service === undefined || !this.#isServed(key) ? undefined : { service, slices };
    }

    /** Returns why nothing of a Service is served; undefined if it is unknown or served. */
    ignored(key: string): IgnoredReason | undefined {
        const service = this.#entries.get(key)?.service;
        return service && this.#filter.ignored(service);
    }

    #context(settings: ServiceSettings, node: OwnNode): ServiceContext {
        return { settings, node, use: this.#addresses, ownerOf: (triple) => this.#owners.owner(triple) };
    }

    #isServed(key: string): boolean {
        const service = this.#entries.get(key)?.service;
        return service !== undefined && this.#filter.ignored(service) === undefined;
    }

    #replaceService(key: string, service: ServiceObject | undefined): ReadonlySet<string> {
        const before = this.#entries.get(key)?.service;
        const isSame = before !== undefined && service !== undefined && sameService(before, service);
        const wasServed = this.#isServed(key);
        this.#update(key, (entry) => void (entry.service = service));
        if (isSame || (before === undefined && service === undefined)) return none;
        const affected = this.#setAddresses(key, before, service);
        this.#setTriples(key);
        const touched = this.#setTriplesOf(affected);
        return wasServed || this.#isServed(key) ? touched.add(key) : touched;
    }

    #setAddresses(
        key: string,
        before: ServiceObject | undefined,
        after: ServiceObject | undefined,
    ): ReadonlySet<string> {
        // what is not served takes no address from others, but its ClusterIPs are its own
        const isServed = after !== undefined && this.#isServed(key);
        return this.#addresses.setService(key, {
            before: clusterIpsOf(before),
            after: clusterIpsOf(after),
            external: isServed ? externalAddresses(after, this.#settings).map(ipOf) : [],
        });
    }

    #replaceSlice(key: string, slice: SliceObject | undefined): ReadonlySet<string> {
        const before = this.#serviceOf.get(key);
        const after = slice && serviceKeyOf(slice);
        const known = before === undefined ? undefined : this.#takeSlice(before, key);
        if (slice === undefined || after === undefined) {
            this.#serviceOf.delete(key);
        } else {
            this.#serviceOf.set(key, after);
            this.#update(after, (entry) => void (entry.slices = [...entry.slices, slice]));
            if (before === after && known !== undefined && sameSlice(known, slice)) return none;
        }
        const touched = [before, after].filter((one) => one !== undefined);
        return new Set(touched.filter((one) => this.#isServed(one)));
    }

    /** Removes a slice from those of a Service, and returns it. */
    #takeSlice(service: string, key: string): SliceObject | undefined {
        const found = this.#entries.get(service)?.slices.find((slice) => keyOf(slice) === key);
        this.#update(service, (entry) => void (entry.slices = entry.slices.filter((slice) => slice !== found)));
        return found;
    }

    #replaceNode(name: string, node: NodeObject | undefined): ReadonlySet<string> {
        const touched = this.#setTriplesOf(this.#addresses.setNode(name, node));
        if (name !== this.#settings.nodeName) return touched;
        const { zone: zoneBefore, addresses: addressesBefore } = this.#node;
        this.#node = ownNodeOf(name, node);
        const { zone, addresses } = this.#node;
        if (zone !== zoneBefore) this.#touchHaving(({ hints }) => hints?.forZones !== undefined, touched);
        const changed = addresses.subtract(addressesBefore).union(addressesBefore.subtract(addresses));
        if (changed.isEmpty) return touched;
        const texts = new Set(Array.from(changed, formatIp));
        // addresses of IPv6 may be written in another way
        const isChanged = (text: string): boolean =>
            texts.has(text) || (text.includes(":") && ipsIn(text).some((ip) => changed.has(ip)));
        this.#touchHaving(({ addresses: [first = ""] }) => isChanged(first), touched);
        return touched;
    }

    /** Adds the served Services with such an endpoint. */
    #touchHaving(test: (endpoint: EndpointObject) => boolean, touched: Set<string>): void {
        for (const [key, { slices }] of this.#entries) {
            if (slices.some(({ endpoints = [] }) => endpoints.some(test)) && this.#isServed(key)) {
                touched.add(key);
            }
        }
    }

    /** Sets the triples at which a Service is to be served now. Returns whether they differ from before. */
    #setTriples(key: string): boolean {
        const service = this.#entries.get(key)?.service;
        if (service === undefined || !this.#isServed(key)) return this.#owners.set(key, none);
        const triples = triplesOf(planService(service, this.#settings, this.#addresses));
        return this.#owners.set(key, triples, service.metadata?.creationTimestamp);
    }

    /** The same for several. Returns those whose triples differ from before, and all that lost or got a triple. */
    #setTriplesOf(keys: Iterable<string>): Set<string> {
        const touched = new Set<string>();
        for (const key of keys) if (this.#setTriples(key)) touched.add(key);
        for (const key of this.#owners.takeChanged()) touched.add(key);
        return touched;
    }

    #update(key: string, change: (entry: Entry) => void): void {
        const entry = this.#entries.get(key) ?? { service: undefined, slices: [] };
        change(entry);
        if (entry.service === undefined && entry.slices.length === 0) this.#entries.delete(key);
        else this.#entries.set(key, entry);
    }
}

function ipOf({ ip }: { readonly ip: IpAddress }): IpAddress {
    return ip;
}

function clusterIpsOf(service: ServiceObject | undefined): readonly IpAddress[] {
    return service === undefined ? [] : clusterAddresses(service).map(ipOf);
}
