import type { Address, Link, Netlink } from "@antrea/netlink";
import type { IpAddress } from "@antrea/ip";

/** A link that is up, runs and has no more than that. */
export function linkOf(index: number, name: string, rest: Partial<Link> = {}): Link {
    return {
        index,
        name,
        type: 1,
        mac: "02:00:00:00:00:02",
        mtu: 1500,
        up: true,
        running: true,
        loopback: false,
        promiscuous: false,
        group: 0,
        altNames: [],
        ...rest,
    };
}

export function addressOf(index: number, ip: IpAddress, prefixLength = 24): Address {
    return {
        index,
        ip,
        prefixLength,
        scope: 0,
        flags: 0,
        secondary: false,
        tentative: false,
        dadFailed: false,
        permanent: true,
    };
}

/** As much of a kernel as is read of links that nobody changes, but for names. */
export function fakeNetlink(links: Link[], addresses: readonly Address[] = []): Netlink {
    const fake: Partial<Netlink> = {
        links: async () => [...links],
        link: async (key) => links.find(({ index, name }) => index === key || name === key),
        addresses: async (index) => addresses.filter((one) => index === undefined || one.index === index),
        routes: async () => [],
        neighbours: async () => [],
        batch: async () => undefined,
        setLink: async (index, changes) => {
            const at = links.findIndex((link) => link.index === index);
            const link = links[at];
            if (link !== undefined) links[at] = { ...link, ...changes } as Link;
        },
    };
    return fake as Netlink;
}
