import { formatIp, type Family, type IpAddress } from "@antrea/ip";
import type { Problem, ServedService } from "@antrea/services";
import { elementsOf } from "./elements.ts";
import type { HostRules, RulesState } from "./host-rules.ts";
import type { NodeAddresses } from "./node-addresses.ts";
import { StandIns } from "./stand-ins.ts";
import { UsedPorts, type UsedPortsComponents } from "./used-ports.ts";

/** What the host has of a Service beside its flows; see `HostStack.prepare`. */
export interface PreparedService {
    /** By the text of an external address that is the Node's own. */
    readonly standIns: ReadonlyMap<string, IpAddress>;
    readonly problems: readonly Problem[];
}

/** Dependencies of HostStack. */
export interface HostStackComponents {
    readonly rules: Pick<HostRules, "set" | "state">;
    readonly addresses: Pick<NodeAddresses, "has" | "known">;
    /** Where programs of the Node listen. */
    readonly listening: UsedPortsComponents["read"];
    /** Called when there is something to write. */
    readonly onRules: () => void;
}

/** The Node's network stack, as Services need it: stand-ins before their flows are made, rules when OVS has them. */
export class HostStack {
    readonly #components: HostStackComponents;
    readonly #standIns = new StandIns();
    readonly #usedPorts: UsedPorts;
    /** By the text of an external address the Services that have it, and the other way round. */
    readonly #users = new Map<string, Set<string>>();
    readonly #external = new Map<string, readonly IpAddress[]>();
    /** The Services with an address for which no stand-in was left. */
    readonly #waiting = new Set<string>();
    #onChange: (key: string) => void = () => undefined;
    #onComplete: () => void = () => undefined;
    #isComplete = false;

    constructor(components: HostStackComponents) {
        this.#components = components;
        this.#usedPorts = new UsedPorts({
            read: components.listening,
            nodePortAddresses: (family) => this.nodePortAddresses(family),
        });
    }

    /** Whether OVS has all Services that are known: before, the rules of an earlier start stay. */
    get isComplete(): boolean {
        return this.#isComplete;
    }

    /** Whether the host has the rules of the Services. */
    get rulesState(): RulesState {
        return this.#components.rules.state;
    }

    /** The addresses of a family at which Pods reach the NodePorts of this Node. */
    nodePortAddresses(family: Family): readonly IpAddress[] {
        return this.#components.addresses.known.nodePorts.filter((ip) => ip.family === family);
    }

    /** The stand-in of an external address; undefined if it has none. */
    standIn(ip: IpAddress): IpAddress | undefined {
        return this.#standIns.get(ip);
    }

    /** Keeps the stand-ins that the host's rules of an earlier start have until `complete`, as these rules stay until then. */
    reserve(earlier: Iterable<readonly [ip: IpAddress, standIn: IpAddress]>): void {
        for (const [ip, standIn] of earlier) this.#standIns.reserve(ip, standIn);
    }

    /** Takes stand-ins for the external addresses of a Service that are the Node's own; to be called before `served`. */
    prepare(service: ServedService): PreparedService {
        const external = externalOf(service);
        this.#use(service.key, external);
        const standIns = new Map<string, IpAddress>();
        const without: IpAddress[] = [];
        for (const ip of external) {
            if (!this.#components.addresses.has(ip)) continue;
            const standIn = this.#standIns.take(ip, service.key);
            if (standIn === undefined) without.push(ip);
            else standIns.set(formatIp(ip), standIn);
        }
        if (without.length > 0) this.#waiting.add(service.key);
        else this.#waiting.delete(service.key);
        const used = this.#usedPorts.problemsOf(service, (ip) => standIns.has(formatIp(ip)));
        return { standIns, problems: without.length === 0 ? used : [usedUp(without), ...used] };
    }

    /** OVS has this of the Service now, with the stand-ins; undefined: nothing. */
    served(
        key: string,
        now: { readonly service: ServedService; readonly prepared: PreparedService } | undefined,
    ): void {
        const { rules, onRules } = this.#components;
        if (now === undefined) {
            this.#use(key, []);
            this.#usedPorts.forget(key);
        }
        const own = (this.#external.get(key) ?? []).filter((ip) => now?.prepared.standIns.has(formatIp(ip)));
        const hasChanged = rules.set(key, now === undefined ? [] : elementsOf(now.service, now.prepared.standIns));
        if (now === undefined) this.#waiting.delete(key);
        if (this.#standIns.keepOnly(key, own)) this.#retry();
        // most changes are of endpoints only, and a check may list the whole table
        if (hasChanged) onRules();
    }

    /** OVS has all Services, or all that are known while the API server does not answer. */
    complete(): void {
        this.#isComplete = true;
        if (this.#standIns.dropUnused()) this.#retry();
        this.#onComplete();
    }

    /** Registers the only listener, which gets the key of each Service whose stand-ins or problems may be others now. */
    onChange(listener: (key: string) => void): void {
        this.#onChange = listener;
    }

    /** Registers the only listener for `complete`. */
    onComplete(listener: () => void): void {
        this.#onComplete = listener;
    }

    /** To be called with the texts of addresses that the Node got or lost. */
    addressesChanged(texts: Iterable<string>): void {
        for (const text of texts) for (const key of this.#users.get(text) ?? []) this.#onChange(key);
    }

    /** Searches for programs that listen where Services take the packets. Rejects with the error of reading. */
    async checkPorts(): Promise<void> {
        await this.#usedPorts.check((key) => this.#onChange(key));
    }

    /** A stand-in is free. */
    #retry(): void {
        for (const key of this.#waiting) this.#onChange(key);
    }

    #use(key: string, external: readonly IpAddress[]): void {
        for (const ip of this.#external.get(key) ?? []) {
            const users = this.#users.get(formatIp(ip));
            users?.delete(key);
            if (users?.size === 0) this.#users.delete(formatIp(ip));
        }
        for (const ip of external) {
            const users = this.#users.get(formatIp(ip)) ?? new Set();
            this.#users.set(formatIp(ip), users.add(key));
        }
        if (external.length === 0) this.#external.delete(key);
        else this.#external.set(key, external);
    }
}

function externalOf({ ports }: Pick<ServedService, "ports">): readonly IpAddress[] {
    const all = ports.flatMap(({ addresses }) => addresses.filter(({ kind }) => kind !== "cluster"));
    return [...new Map(all.map(({ ip }) => [formatIp(ip), ip])).values()];
}

function usedUp(without: readonly IpAddress[]): Problem {
    const [first] = without;
    return {
        reason: "StandInsUsedUp",
        field: "spec.externalIPs or status.loadBalancer.ingress",
        value: first === undefined ? "" : formatIp(first),
        rule: "is an address of this Node, of which 123 of IPv4 can be external addresses of Services; it is not served there",
        next: "use fewer of the Node's own addresses as external addresses",
        count: without.length,
    };
}
