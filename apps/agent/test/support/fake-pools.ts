import { formatIp, parseIp, type Family, type IpAddress } from "@antrea/ip";
import type { PodPools } from "../../src/features/pod-network/index.ts";
import type {
    AddressAllocation,
    AddressRequest,
    Attachment,
    PodAttachment,
} from "../../src/platform/pod-interfaces/index.ts";

/** Pods whose names begin so ask for addresses of the pool. */
export const poolPodName = "pool";

/** Pools in memory: allocations by (Pod UID, interface), each naming a container, as the agent's allocations do. */
export class FakePools implements PodPools {
    readonly gateways = ["10.2.0.1", "fd02::1"].map((text) => parseIp(text));
    readonly allocations = new Map<string, { containerId: string; ifName: string; allocation: AddressAllocation }>();
    /** Runs while an allocation is under way. */
    onAllocation: () => Promise<void> = () => Promise.resolve();
    /** Those that the pools have. */
    families: readonly Family[] = [4, 6];
    #next = 12;

    requestOf(attachment: PodAttachment): Promise<AddressRequest | undefined> {
        if (!attachment.podName.startsWith(poolPodName)) return Promise.resolve(undefined);
        return Promise.resolve({ claim: () => this.#claim(attachment) });
    }

    release({ containerId, ifName }: Attachment): Promise<void> {
        for (const [key, allocation] of this.allocations) {
            if (allocation.containerId === containerId && allocation.ifName === ifName) this.allocations.delete(key);
        }
        return Promise.resolve();
    }

    hasAllocations({ containerId, ifName }: Attachment, ips: readonly IpAddress[]): boolean {
        const own = [...this.allocations.values()]
            .filter((one) => one.containerId === containerId && one.ifName === ifName)
            .flatMap(({ allocation }) => allocation.addresses.map(({ ip }) => formatIp(ip)));
        return ips.every((ip) => own.includes(formatIp(ip)));
    }

    /** The pool of an address that is claimed. */
    poolOf(ip: Parameters<typeof formatIp>[0]): string | undefined {
        const claimed = [...this.allocations.values()].flatMap(({ allocation }) => allocation.addresses);
        return claimed.find((one) => formatIp(one.ip) === formatIp(ip))?.pool;
    }

    async #claim({ podUid, containerId, ifName }: PodAttachment): Promise<AddressAllocation> {
        const key = `${podUid}/${ifName}`;
        const allocation = this.allocations.get(key)?.allocation ?? this.#allocation();
        // Claimed first, reported later: what fails in between has claimed already.
        this.allocations.set(key, { containerId, ifName, allocation });
        await this.onAllocation();
        return allocation;
    }

    #allocation(): AddressAllocation {
        const number = this.#next++;
        const texts = [`10.2.0.${number}`, `fd02::${number.toString(16)}`];
        return {
            vlan: 2,
            addresses: texts
                .map((text, index) => ({
                    ip: parseIp(text),
                    prefixLength: index === 0 ? 24 : 64,
                    gateway: this.gateways[index] ?? parseIp("::"),
                    pool: `pool${index === 0 ? 4 : 6}`,
                }))
                .filter(({ ip }) => this.families.includes(ip.family)),
        };
    }
}
