import { settleAll } from "@antrea/async";
import { isNetlinkError, type Netlink } from "@antrea/netlink";
import type { NodeSysctls } from "../../platform/host/gateway/index.ts";

/** Dependencies of NicSettings. */
export interface NicSettingsComponents {
    readonly netlink: Pick<Netlink, "link" | "setLink">;
    /** Sysctls of the Node; what they were before is remembered, also after a restart. */
    readonly sysctls: Pick<NodeSysctls, "held" | "set" | "undo">;
}

/** Settings of NicSettings. */
export interface NicSettingsOptions {
    /**
     * The link group of NICs on a datapath that copies frames, whose frames the host input filter drops; undefined if the
     * datapath takes the frames away from the Node.
     */
    readonly linkGroup: number | undefined;
}

/** The group of links that nobody put into another one. */
const defaultGroup = 0;

/** The settings of NICs as ports of a bridge: up, and without IPv6, whose router advertisements would give them addresses. */
export class NicSettings {
    readonly #components: NicSettingsComponents;
    readonly #linkGroup: number | undefined;

    constructor(components: NicSettingsComponents, { linkGroup }: NicSettingsOptions) {
        this.#components = components;
        this.#linkGroup = linkGroup;
    }

    /** Makes a NIC ready to be a port; idempotent. A link that is gone meanwhile is left. Rejects with NetlinkError. */
    async prepare(name: string): Promise<void> {
        const { netlink, sysctls } = this.#components;
        await ifPresent(() => sysctls.set(ipv6Of(name), "1"));
        await ifPresent(async () => {
            const link = await netlink.link(name);
            if (link === undefined) return;
            if (this.#linkGroup !== undefined && link.group !== this.#linkGroup)
                await netlink.setLink(link.index, { group: this.#linkGroup });
            if (!link.up) await netlink.setLink(link.index, { up: true });
        });
    }

    /**
     * The NICs that were made ports in this boot, by this agent or an earlier one, and not given back since, without those that
     * had no IPv6 before: reads a file.
     */
    prepared(): readonly string[] {
        return this.#components.sysctls.held().flatMap((key) => nicOf(key) ?? []);
    }

    /**
     * Gives NICs back to the Node as far as `prepare` changed them; they stay up. Rejects with the first NetlinkError, after
     * all were tried.
     */
    async release(names: readonly string[]): Promise<void> {
        await settleAll([...new Set(names)].map((name) => this.#release(name)));
    }

    async #release(name: string): Promise<void> {
        const { netlink, sysctls } = this.#components;
        await ifPresent(async () => {
            const link = await netlink.link(name);
            if (link === undefined) return;
            if (this.#linkGroup !== undefined && link.group === this.#linkGroup)
                await netlink.setLink(link.index, { group: defaultGroup });
        });
        await ifPresent(() => sysctls.undo(ipv6Of(name)));
    }
}

function ipv6Of(name: string): string {
    return `net/ipv6/conf/${name}/disable_ipv6`;
}

function nicOf(key: string): string | undefined {
    return /^net\/ipv6\/conf\/([^/]+)\/disable_ipv6$/.exec(key)?.[1];
}

/** A kernel without IPv6 has no such sysctl; a link may be removed at any time. */
async function ifPresent(work: () => Promise<void> | void): Promise<void> {
    try {
        await work();
    } catch (error) {
        if (!isNetlinkError(error, "ENOENT") && !isNetlinkError(error, "ENODEV")) throw error;
    }
}
