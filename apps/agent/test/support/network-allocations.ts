import { AntreaError } from "@antrea/errors";
import { formatIp, parseIp, type IpAddress } from "@antrea/ip";
import type { Attachment, NetworkAllocations } from "../../src/platform/pod-interfaces/index.ts";

/** Addresses 192.168.X.n of pool "X", in VLAN X; the pool "full" has none. An interface of a Pod keeps its own in the next sandbox. */
export class FakeNetworkAllocations implements NetworkAllocations {
    /** By address. */
    readonly held = new Map<string, { readonly owner: string; readonly key: string; readonly pool: string }>();

    claimForNetwork: NetworkAllocations["claimForNetwork"] = ({ containerId, ifName, podUid, demands }) => {
        if (demands.some(({ pool }) => pool === "full"))
            return Promise.reject(new AntreaError("EXHAUSTED", "environment", "no free address in full"));
        return Promise.resolve(
            demands.map(({ pool }) => {
                const key = `${podUid}/${ifName}/${pool}`;
                const text = this.#addressOf(key) ?? this.#free(pool);
                this.held.set(text, { owner: `${containerId}/${ifName}`, key, pool });
                const gateway = parseIp(`192.168.${pool}.1`);
                return { ip: parseIp(text), prefixLength: 24, gateway, vlan: Number(pool), pool };
            }),
        );
    };

    release({ containerId, ifName }: Attachment): Promise<void> {
        for (const [ip, { owner }] of this.held) if (owner === `${containerId}/${ifName}`) this.held.delete(ip);
        return Promise.resolve();
    }

    hasAllocations({ containerId, ifName }: Attachment, ips: readonly IpAddress[]): boolean {
        return ips.every((ip) => this.held.get(formatIp(ip))?.owner === `${containerId}/${ifName}`);
    }

    networkInterfacesOf(containerId: string): readonly Attachment[] {
        const owners = [...this.held.values()].map(({ owner }) => owner.split("/"));
        return owners.flatMap(([id = "", ifName = ""]) => (id === containerId ? [{ containerId, ifName }] : []));
    }

    networkOf(): string {
        return "";
    }

    addressesFor({ containerId, ifName }: Attachment): ReturnType<NetworkAllocations["addressesFor"]> {
        const own = [...this.held].filter(([, { owner }]) => owner === `${containerId}/${ifName}`);
        return own.map(([ip, { pool }]) => ({
            ip: parseIp(ip),
            prefixLength: 24,
            gateway: parseIp(`192.168.${pool}.1`),
            pool,
        }));
    }

    #addressOf(key: string): string | undefined {
        return [...this.held].find(([, one]) => one.key === key)?.[0];
    }

    #free(pool: string): string {
        let host = 2;
        while (this.held.has(`192.168.${pool}.${host}`)) host += 1;
        return formatIp(parseIp(`192.168.${pool}.${host}`));
    }
}
