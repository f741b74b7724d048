import { formatIp } from "@antrea/ip";
import type { Logger } from "@antrea/runtime";
import type { KnownPod } from "./found-records.ts";
import { heldOwner, type NodeSubnet } from "./node-subnet.ts";
import { heldAddresses, type HeldAddress } from "./rebuild.ts";

/** Dependencies of HeldAddresses. */
export interface HeldAddressesComponents {
    readonly subnet: Pick<NodeSubnet, "take" | "release" | "contains" | "ownerOf">;
    readonly logger: Logger;
}

/**
 * Addresses of this Node that Pods have according to the API server without visible wiring. No other Pod gets them
 * while the API server reports them; an ADD of the same Pod takes them over. Marks them in `subnet` only; reads nothing
 * itself.
 */
export class HeldAddresses {
    readonly #components: HeldAddressesComponents;
    #held: readonly HeldAddress[] = [];

    constructor(components: HeldAddressesComponents) {
        this.#components = components;
    }

    /** The held addresses. */
    list(): readonly HeldAddress[] {
        return this.#held;
    }

    /**
     * Holds these addresses instead of the listed ones, for the owner `heldOwner` of their Pod. To be called once:
     * earlier ones are not freed.
     */
    hold(held: readonly HeldAddress[]): void {
        const { logger, subnet } = this.#components;
        this.#held = held;
        for (const { ip, podUid } of held) subnet.take(ip, heldOwner(podUid));
        if (held.length > 0) logger.info("addresses of Pods held", { addresses: held.length });
    }

    /** Holds those addresses of the Pods that are of this Node's podCIDRs and not in use; otherwise as `hold`. */
    holdUnused(pods: readonly KnownPod[]): void {
        const { subnet } = this.#components;
        this.hold(heldAddresses(pods).filter(({ ip }) => subnet.contains(ip) && subnet.ownerOf(ip) === undefined));
    }

    /**
     * Frees the held addresses that these Pods, which are now all of this Node, no longer have. An address that an ADD
     * has taken over stays with its interface.
     */
    freeAllBut(pods: readonly KnownPod[]): void {
        const stillHeld = new Set(heldAddresses(pods).map(({ ip, podUid }) => `${podUid} ${formatIp(ip)}`));
        this.#held = this.#held.filter(({ ip, podUid }) => {
            if (stillHeld.has(`${podUid} ${formatIp(ip)}`)) return true;
            this.#components.subnet.release(ip, heldOwner(podUid));
            return false;
        });
    }
}
