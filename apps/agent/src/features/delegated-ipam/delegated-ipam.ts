import {
    addressesOf,
    planAddresses,
    type IpamSection,
    type StaticAddress,
    type WantedAddresses,
} from "@antrea/networks";
import { formatIp, type IpAddress } from "@antrea/ip";
import type { Logger } from "@antrea/runtime";
import type {
    Attachment,
    NetworkAddress,
    NetworkAddresses,
    PodAttachment,
} from "../../platform/pod-interfaces/index.ts";
import { DelegatedIpamError } from "./errors.ts";

/** The allocations of IPPools, as this feature uses them. */
export interface DelegatedPools {
    /** Resolves when the IPPools are known; rejects if the signal aborts first. */
    synced(signal: AbortSignal): Promise<void>;
    /** The IPPool whose ranges contain the address: the first of the named ones that does, else any; undefined if none does. */
    poolOf(ip: IpAddress, named: readonly string[]): string | undefined;
    /** Allocates the addresses, all or nothing; rejects with the error that ADD returns. */
    claim(request: NetworkAddresses, signal: AbortSignal): Promise<readonly NetworkAddress[]>;
    /** Frees the allocations of an interface, within one second or in the background. Never rejects. */
    release(attachment: Attachment): Promise<void>;
    /** The allocated addresses of an interface, as text; resolves when they are known. */
    addressesOf(attachment: Attachment, signal: AbortSignal): Promise<readonly string[]>;
    /** Frees the allocations of the interfaces of a network that are not in the list and older; their number. */
    collect(network: string, valid: readonly Attachment[], before: number): Promise<number>;
}

/** Dependencies of DelegatedIpam. */
export interface DelegatedIpamComponents {
    readonly pools: DelegatedPools;
    /** Whether the container has an interface on the Pod network that is not being removed. */
    readonly hasContainer: (containerId: string) => boolean;
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
}

/** How long CHECK waits for the allocations of this Node. */
const knownMs = 2_000;

/**
 * Gives the addresses of IPPools to interfaces that other CNI plugins make (`"ipam": {"type": "antrea"}`, CNI
 * specification, "Delegated plugins"). The interface is not known here: its addresses are in use until its DEL, or until
 * the container has no interface of this agent.
 */
export class DelegatedIpam {
    readonly #components: DelegatedIpamComponents;
    /** Networks of which something without effect was logged. */
    readonly #logged = new Set<string>();

    constructor(components: DelegatedIpamComponents) {
        this.#components = components;
    }

    /**
     * Allocates the addresses of an interface; see `planAddresses` which. Idempotent per container and interface.
     * Rejects with CniCallError for addresses that break a rule, DelegatedIpamError `OTHERS_SANDBOX`, or the error of
     * the claim; nothing is allocated then.
     */
    async add(call: DelegatedAdd, signal: AbortSignal): Promise<readonly StaticAddress[]> {
        const { pools } = this.#components;
        this.#refuseOthersSandbox(call);
        await pools.synced(signal);
        const { containerId, ifName, podNamespace, podName, podUid, network, section, wanted } = call;
        const plan = planAddresses(section, wanted, (ip) => pools.poolOf(ip, section.ippools));
        const { demands } = plan;
        const request = { containerId, ifName, podNamespace, podName, podUid, network, demands };
        const claimed = demands.length === 0 ? [] : await pools.claim(request, signal);
        this.#logIgnored(call, claimed);
        const addresses = addressesOf(plan, claimed);
        this.#components.logger.info("addresses given to an interface of another plugin", {
            pod: `${podNamespace}/${podName}`,
            network,
            interface: ifName,
            addresses: addresses.map(({ ip }) => formatIp(ip)),
        });
        return addresses;
    }

    /** Frees the addresses of an interface; succeeds if it has none, and while the API server is unavailable. */
    delete(attachment: Attachment): Promise<void> {
        return this.#components.pools.release(attachment);
    }

    /**
     * Rejects with DelegatedIpamError `CLAIM` if an address of the previous result that an IPPool contains is not
     * allocated to the interface, or an allocated one is not in it. `previous` undefined: the runtime passed none, and
     * nothing is compared.
     */
    async check(
        attachment: Attachment & { readonly network: string },
        previous: readonly { readonly ip: IpAddress }[] | undefined,
    ): Promise<void> {
        const { pools } = this.#components;
        if (previous === undefined) return;
        const limit = AbortSignal.timeout(knownMs);
        const allocated = await pools.addressesOf(attachment, limit);
        await pools.synced(limit);
        const listed = previous.map(({ ip }) => formatIp(ip));
        const lost = previous.find(({ ip }) => !allocated.includes(formatIp(ip)) && pools.poolOf(ip, []) !== undefined);
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

    /** Without an interface of ours nothing would show how long the container lives. */
    #refuseOthersSandbox({ containerId, network, podNamespace, podName }: DelegatedAdd): void {
        if (this.#components.hasContainer(containerId)) return;
        throw new DelegatedIpamError(
            "OTHERS_SANDBOX",
            "caller",
            `network ${network}: container ${containerId} of Pod ${podNamespace}/${podName} has no interface on the Pod network of antrea, and only such containers get addresses of IPPools; next: let antrea be the network plugin of the cluster (the first configuration in the CNI folder), or use another IPAM plugin in network ${network}`,
        );
    }

    #logIgnored({ network, type, section }: DelegatedAdd, claimed: readonly NetworkAddress[]): void {
        const inVlan = claimed.find(({ vlan }) => vlan > 0);
        if (section.ignored.length === 0 && inVlan === undefined) return;
        if (this.#logged.has(network)) return;
        this.#logged.add(network);
        const { logger } = this.#components;
        if (section.ignored.length > 0) {
            logger.warn("keys of the IPAM section have no effect", { network, keys: section.ignored });
        }
        if (inVlan !== undefined) {
            logger.warn(
                "the VLAN of an IPPool has no effect: another plugin makes the interface, and decides its VLAN",
                {
                    network,
                    plugin: type,
                    pool: inVlan.pool,
                    vlan: inVlan.vlan,
                },
            );
        }
    }
}

function mismatch(
    { containerId, ifName, network }: Attachment & { readonly network: string },
    what: string,
): DelegatedIpamError {
    return new DelegatedIpamError(
        "CLAIM",
        "environment",
        `network ${network}, container ${containerId}, interface ${ifName}: ${what}`,
    );
}
