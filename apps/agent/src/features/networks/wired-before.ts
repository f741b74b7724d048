import type {
    NetworkInterfaceView,
    NetworkRecord,
    PodInterfaceView,
    WiredNetworks,
} from "../../platform/pod-interfaces/index.ts";

/**
 * The containers with interfaces on other networks that an earlier start of the agent made because of annotations. Left out
 * are interfaces of a meta plugin, which reports them itself, and containers whose records were rebuilt from their links, as
 * these lack names.
 *
 * @param mtu of the Pod network, in bytes
 */
export function wiredBefore(
    podInterfaces: Pick<PodInterfaceView, "list">,
    interfaces: Pick<NetworkInterfaceView, "list">,
    mtu: number,
): readonly WiredNetworks[] {
    const byContainer = new Map<string, NetworkRecord[]>();
    for (const { record, leaving, addedAt } of interfaces.list()) {
        if (addedAt !== 0 || leaving !== undefined || record.attachedBy !== undefined) continue;
        const known = byContainer.get(record.containerId);
        if (known === undefined) byContainer.set(record.containerId, [record]);
        else known.push(record);
    }
    return podInterfaces.list().flatMap(({ record: own }) => {
        const records = byContainer.get(own.containerId) ?? [];
        const isWhole = own.network !== undefined && [own, ...records].every(({ netns }) => netns !== "");
        if (records.length === 0 || !isWhole) return [];
        return [{ own, mtu, networks: records.map((record) => ({ record, dns: undefined })) }];
    });
}
