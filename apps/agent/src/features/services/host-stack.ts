import type { Family, IpAddress, Prefix } from "@antrea/ip";
import type { Problem, ServedService } from "@antrea/services";

/** What the host has of a Service beside its flows; see `HostStack.prepare`. */
export interface PreparedService {
    /** Addresses to which the host translates external addresses that are the Node's own, by the text of those. */
    readonly standIns: ReadonlyMap<string, IpAddress>;
    /** What of the Service the host cannot serve, and which programs of the Node it takes packets from. */
    readonly problems: readonly Problem[];
}

/** The Service CIDRs of the cluster, to which the host has routes, and which the journal has for the next start. */
export interface HostServiceCidrs {
    /** Undefined until the API server has answered. */
    readonly known: readonly Prefix[] | undefined;
    /** Registers a listener, for good, for possible changes of `known`. */
    onChange(listener: () => void): void;
    /** To be called with those that were last known, before `complete` of the stack: they serve until they are known. */
    restore(last: readonly Prefix[]): void;
}

/** The Node's network stack, which leads the Node itself and clients outside to Services in OVS. */
export interface HostStack {
    /** Called before the flows of a Service are made, and before each `served` with this Service. */
    prepare(service: ServedService): PreparedService;
    /** OVS has this of the Service now; undefined: nothing. */
    served(key: string, now: { readonly service: ServedService; readonly prepared: PreparedService } | undefined): void;
    /**
     * Called when OVS has all Services, and before if it has those that were last known, as it had none of an earlier start
     * and the API server does not answer.
     */
    complete(): void;
    /** Registers the listener for Services that are to be prepared anew, by their keys. */
    onChange(listener: (key: string) => void): void;
    /** The addresses of a family at which Pods reach the NodePorts of this Node. */
    nodePortAddresses(family: Family): readonly IpAddress[];
    /** The stand-in of an external address; undefined if it has none. */
    standIn(ip: IpAddress): IpAddress | undefined;
}
