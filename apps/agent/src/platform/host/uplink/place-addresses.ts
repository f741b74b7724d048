import { AddressFlag, type AddressOptions, type Netlink } from "@antrea/netlink";
import { addressText } from "./snapshot-changes.ts";
import { movedAddress, type MovedAddress, type MovedNeighbour } from "./snapshot.ts";

/**
 * Sets the addresses of a link to exactly these, in order, with IPv6 addresses usable at once. Addresses that are
 * correct already are not changed. Rejects with the first NetlinkError, after the other changes were tried.
 */
export async function placeAddresses(netlink: Netlink, index: number, wanted: readonly MovedAddress[]): Promise<void> {
    const present = (await netlink.addresses(index)).map(movedAddress);
    const four = changes4(present.filter(isFour), wanted.filter(isFour));
    const six = changes6(present.filter(isSix), wanted.filter(isSix));
    if (four.removed.length + four.added.length + six.removed.length + six.added.length === 0) return;
    await netlink.batch((batch) => {
        for (const address of [...four.removed, ...six.removed]) batch.deleteAddress({ index, ...address });
        for (const address of four.added) batch.addAddress(optionsOf(index, address));
        for (const address of six.added) {
            const options = optionsOf(index, address);
            batch.addAddress({ ...options, noDad: true });
            // The flag would remain visible; without it an address that is usable already stays usable.
            if ((address.flags & AddressFlag.NODAD) === 0) batch.replaceAddress(options);
        }
    });
}

/**
 * Removes the IPv4 addresses of a link. Secondary ones first: the kernel would remove them with their primary. Rejects
 * with NetlinkError.
 */
export async function removeAddresses4(netlink: Netlink, index: number): Promise<void> {
    const present = (await netlink.addresses(index)).filter(isFour);
    await netlink.batch((batch) => {
        for (const address of present.reverse()) batch.deleteAddress(address);
    });
}

/**
 * Adds the neighbour entries that have a MAC address to a link, or replaces those for the addresses. Rejects with
 * NetlinkError.
 */
export async function placeNeighbours(
    netlink: Netlink,
    index: number,
    neighbours: readonly MovedNeighbour[],
): Promise<void> {
    await netlink.batch((batch) => {
        for (const { ip, mac, state, flags } of neighbours) {
            if (mac !== undefined) batch.replaceNeighbour({ index, ip, mac, state, flags });
        }
    });
}

interface AddressChanges {
    readonly removed: readonly MovedAddress[];
    readonly added: readonly MovedAddress[];
}

/** The order of IPv4 addresses determines the primary one: all after the first mismatch are recreated. */
function changes4(present: readonly MovedAddress[], wanted: readonly MovedAddress[]): AddressChanges {
    let same = 0;
    const text = (list: readonly MovedAddress[]): string | undefined => {
        const address = list[same];
        return address && addressText(address);
    };
    while (text(present) !== undefined && text(present) === text(wanted)) same++;
    return { removed: present.slice(same).reverse(), added: wanted.slice(same) };
}

/** The kernel inserts a new IPv6 address before the others. */
function changes6(present: readonly MovedAddress[], wanted: readonly MovedAddress[]): AddressChanges {
    const have = new Set(present.map(addressText));
    const want = new Set(wanted.map(addressText));
    return {
        removed: present.filter((address) => !want.has(addressText(address))),
        added: wanted.filter((address) => !have.has(addressText(address))).reverse(),
    };
}

function optionsOf(index: number, { broadcast, ...address }: MovedAddress): AddressOptions {
    return { index, ...address, broadcast: broadcast ?? "none" };
}

function isFour({ ip }: Pick<MovedAddress, "ip">): boolean {
    return ip.family === 4;
}

function isSix({ ip }: Pick<MovedAddress, "ip">): boolean {
    return ip.family === 6;
}
