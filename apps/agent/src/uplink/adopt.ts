import type { Netlink } from "@antrea/netlink";
import type { JournalEntry } from "./journal-codec.ts";
import { isMadeByOvs, linkNamed } from "./links.ts";
import { physicalNameOf } from "./names.ts";
import { readNicSettings } from "./nic-settings.ts";
import { takeSnapshot } from "./snapshot.ts";
import type { Whereabouts } from "./whereabouts.ts";

/** What a lost journal must have said, when the links say that a NIC of this name was moved. */
export async function entryOfLinks(
    netlink: Netlink,
    name: string,
    here: Whereabouts,
    uptimeSeconds: number,
): Promise<JournalEntry | undefined> {
    const physicalName = physicalNameOf(name, () => false);
    const [host, nic] = await Promise.all([linkNamed(netlink, name), linkNamed(netlink, physicalName)]);
    if (nic === undefined || isMadeByOvs(nic) || (host !== undefined && !isMadeByOvs(host))) return undefined;
    const source = host ?? nic;
    return {
        step: "bridged",
        ...here,
        name,
        physicalName,
        // What an untouched NIC usually has where the host port says nothing of it.
        nic: { ...readNicSettings(source), index: nic.index, group: 0, promiscuous: false },
        saved: await takeSnapshot(netlink, source, uptimeSeconds),
    };
}
