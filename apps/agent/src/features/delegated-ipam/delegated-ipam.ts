import {
    addressesOf,
    planAddresses,
    type PoolMatch,
    type AddressPlan,
    type IpamSection,
    type StaticAddress,
    type WantedAddresses,
} from "@antrea/networks";
import { CniCallError } from "@antrea/cni";
import { isAborted } from "@antrea/errors";
import { formatIp, sameIp, type IpAddress } from "@antrea/ip";
import type { LogFields, Logger } from "@antrea/runtime";
import type {
    Attachment,
    NetworkAddress,
    NetworkAddresses,
    PodAttachment,
} from "../../platform/pod-interfaces/index.ts";
import { DelegatedIpamError } from "./errors.ts";

/** The allocations of IPPools, as this feature uses them. */
export interface DelegatedPools {
    /** Resolves when the IPPools are known; rejects if they are not in time. */
    synced(signal: AbortSignal): Promise<void>;
    /** The IPPool that matches the address: the first of the named ones that does, else any; undefined if none does. */
    poolOf(ip: IpAddress, named: readonly string[], match: PoolMatch): string | undefined;
    /**
     * Allocates the addresses, all or nothing, and frees others that the interface had; rejects with the error that ADD
     * returns, which is on the Pod as event then. A DEL since `receivedAt` (monotonic, ms) is such an error.
     */
    claim(request: NetworkAddresses, receivedAt: number, signal: AbortSignal): Promise<readonly NetworkAddress[]>;
    /** Whether the interface of the Pod has allocations, from any of its sandboxes. */
    hasAny(podUid: string, ifName: string): boolean;
    /** Records on the Pod that an interface got no addresses. */
    failed(asked: PodAttachment, error: unknown): void;
    /** Frees the allocations of an interface, within one second or in the background. Never rejects. */
    release(attachment: Attachment): Promise<void>;
    /** The allocated addresses of an interface, as text; undefined while they are not known. */
    addressesOf(attachment: Attachment): readonly string[] | undefined;
    /** Frees the allocations of the interfaces of a network that are not in the list and older; their number. */
    collect(network: string, valid: readonly Attachment[], before: number): Promise<number>;
}

/** Dependencies of DelegatedIpam. */
export interface DelegatedIpamComponents {
    readonly pools: DelegatedPools;
    /** Whether the container has an interface on the Pod network that is not being removed. */
    readonly hasContainer: (containerId: string) => boolean;
    /** Whether this agent makes the interface. */
    readonly isOwn: (attachment: Attachment) => boolean;
    readonly logger: Logger;
}

/** An ADD for the addresses of an interface that another plugin makes. */
export interface DelegatedAdd extends PodAttachment {
    /** Name of the CNI network. */
    readonly network: string;
    /** The plugin that makes the interface. */
    readonly type: string;
    readonly section: IpamSection;
    readonly wanted: WantedAddresses;
    /** When the call was received, in milliseconds of the monotonic clock; a DEL received later takes precedence. */
    readonly receivedAt: number;
}

/** More than the networks of a cluster, three messages of each. */
const maxLogged = 3_072;

/**
 * Gives the addresses of IPPools to interfaces that other CNI plugins make (`"ipam": {"type": "antrea"}`, CNI
 * specification, "Delegated plugins"). The interface is not known here: its addresses are in use until its DEL, or until
 * the container has no interface of this agent.
 */
export class DelegatedIpam {
    readonly #components: DelegatedIpamComponents;
    /** Networks with what was logged of them. */
    readonly #logged = new Set<string>();

    constructor(components: DelegatedIpamComponents) {
        this.#components = components;
    }

    /**
     * Allocates the addresses of an interface; see `planAddresses` which. Idempotent per container and interface.
     * Rejects with CniCallError for addresses that break a rule, DelegatedIpamError `OTHERS_SANDBOX`, or the error of
     * the allocation; nothing is allocated then.
     */
    async add(call: DelegatedAdd, signal: AbortSignal): Promise<readonly StaticAddress[]> {
        const { logger } = this.#components;
        const { podNamespace, podName, network, ifName } = call;
        const { plan, claimed } = await this.#claim(await this.#planned(call, signal), call, signal);
        this.#logIgnored(call, plan, claimed);
        const addresses = addressesOf(plan, claimed);
        logger.info("addresses given to an interface of another plugin", {
            pod: `${podNamespace}/${podName}`,
            network,
            interface: ifName,
            addresses: addresses.map(({ ip }) => formatIp(ip)),
        });
        return addresses;
    }

    /** What is refused before anything is claimed is an event on the Pod too. */
    async #planned(call: DelegatedAdd, signal: AbortSignal): Promise<AddressPlan> {
        const { pools } = this.#components;
        const { section, wanted } = call;
        try {
            this.#refuseOwn(call);
            this.#refuseOthersSandbox(call);
            await pools.synced(signal);
            return planAddresses(section, wanted, (ip, match) => pools.poolOf(ip, section.ippools, match));
        } catch (error) {
            if (!isAborted(error)) pools.failed(call, named(error, call));
            throw named(error, call);
        }
    }

    async #claim(
        plan: AddressPlan,
        call: DelegatedAdd,
        signal: AbortSignal,
    ): Promise<{ readonly plan: AddressPlan; readonly claimed: readonly NetworkAddress[] }> {
        const { pools } = this.#components;
        const { containerId, ifName, podNamespace, podName, podUid, network, receivedAt } = call;
        const { demands } = plan;
        // Also without demands: an earlier sandbox may have had some.
        if (demands.length === 0 && !pools.hasAny(podUid, ifName)) return { plan, claimed: [] };
        const request = { containerId, ifName, podNamespace, podName, podUid, network, demands };
        return { plan, claimed: await pools.claim(request, receivedAt, signal) };
    }

    /** Records on the Pod why an ADD for it is refused before anything is asked. */
    refused(pod: PodAttachment, error: unknown): void {
        this.#components.pools.failed(pod, error);
    }

    /** Frees the addresses of an interface; succeeds if it has none, and while the API server is unavailable. */
    delete(attachment: Attachment): Promise<void> {
        return this.#components.pools.release(attachment);
    }

    /**
     * Rejects with DelegatedIpamError `ALLOCATION` if an address of the previous result that an IPPool hands out is not
     * allocated to the interface, or an allocated one is not in it. `previous` undefined: the runtime passed none.
     * Nothing is compared then, nor while the API server has not been read.
     */
    async check(
        attachment: Attachment & { readonly network: string },
        previous: readonly { readonly ip: IpAddress }[] | undefined,
    ): Promise<void> {
        const { pools } = this.#components;
        const allocated = pools.addressesOf(attachment);
        if (previous === undefined || allocated === undefined) return;
        const listed = previous.map(({ ip }) => formatIp(ip));
        const lost = previous.find(
            ({ ip }) => !allocated.includes(formatIp(ip)) && pools.poolOf(ip, [], "usable") !== undefined,
        );
        if (lost !== undefined) {
            const text = `address ${formatIp(lost.ip)} of prevResult is not allocated to it: no IPAllocation names the container and the interface`;
            throw mismatch(attachment, text);
        }
        const unknown = allocated.find((text) => !listed.includes(text));
        if (unknown !== undefined) throw mismatch(attachment, `prevResult lacks ${unknown}, which is allocated to it`);
    }

    /**
     * Frees the addresses of the interfaces of a network that are not in the list, and older than the call, which was
     * received at `receivedAt` (monotonic, ms); the number of these interfaces.
     */
    collect(network: string, valid: readonly Attachment[], receivedAt: number): Promise<number> {
        return this.#components.pools.collect(network, valid, receivedAt);
    }

    #refuseOwn(call: DelegatedAdd): void {
        const { ifName } = call;
        if (ifName !== "lo" && !this.#components.isOwn(call)) return;
        throw new DelegatedIpamError(
            "OWN_INTERFACE",
            "caller",
            `CNI_IFNAME: ${ifName} is an interface that the container has already; next: request another interface name in the Pod's annotation k8s.v1.cni.cncf.io/networks`,
        );
    }

    /** Without an interface of ours nothing would show how long the container lives. */
    #refuseOthersSandbox({ containerId, network, podNamespace, podName }: DelegatedAdd): void {
        if (this.#components.hasContainer(containerId)) return;
        throw new DelegatedIpamError(
            "OTHERS_SANDBOX",
            "caller",
            `container ${containerId} of Pod ${podNamespace}/${podName} has no interface on the Pod network of antrea, and only such containers get addresses of IPPools; next: let antrea be the network of the cluster, which the runtime or the meta plugin attaches first, or use another IPAM plugin in network ${network}`,
        );
    }

    #logIgnored(
        { network, type, section, wanted }: DelegatedAdd,
        { demands }: AddressPlan,
        claimed: readonly NetworkAddress[],
    ): void {
        const inVlan = claimed.find(({ vlan }) => vlan > 0);
        const ofPool = wanted.addresses.find(
            ({ ip, gateway }) =>
                gateway !== undefined &&
                demands.slice(0, section.ippools.length).some(({ fixed }) => fixed && sameIp(fixed, ip)),
        );
        if (ofPool !== undefined) {
            const text = "the gateway of an address has no effect: a listed IPPool gives the address, with its own";
            this.#warnOnce(network, text, { address: formatIp(ofPool.ip) });
        }
        if (section.ignored.length > 0) {
            this.#warnOnce(network, "keys of the IPAM section have no effect", { keys: section.ignored });
        }
        if (inVlan !== undefined) {
            const text =
                "the VLAN of an IPPool has no effect: another plugin makes the interface, and decides its VLAN";
            this.#warnOnce(network, text, { plugin: type, pool: inVlan.pool, vlan: inVlan.vlan });
        }
    }

    /** Each message once of a network. */
    #warnOnce(network: string, message: string, fields: LogFields): void {
        const key = `${network} ${message}`;
        if (this.#logged.has(key)) return;
        this.#logged.add(key);
        if (this.#logged.size > maxLogged) this.#logged.delete(this.#logged.values().next().value ?? "");
        this.#components.logger.warn(message, { network, ...fields });
    }
}

/** The error with the network and the interface in its message, if its class is known. */
function named(error: unknown, { network, ifName }: DelegatedAdd): unknown {
    const text = `network ${network}, interface ${ifName}: `;
    if (error instanceof CniCallError)
        return new CniCallError(error.code, error.fault, text + error.message, { cause: error.cause });
    if (error instanceof DelegatedIpamError)
        return new DelegatedIpamError(error.code, error.fault, text + error.message);
    return error;
}

function mismatch(
    { containerId, ifName, network }: Attachment & { readonly network: string },
    what: string,
): DelegatedIpamError {
    return new DelegatedIpamError(
        "ALLOCATION",
        "environment",
        `network ${network}, container ${containerId}, interface ${ifName}: ${what}`,
    );
}
