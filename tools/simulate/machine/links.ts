import { type Link } from "@antrea/netlink";

/** A kernel link; `netns` of its peer, "" if that is not in a container. */
export type MachineLink = Link & { readonly netns: string };

const nicNames = ["eth0", "eth1"] as const;
const firstNic = 2;

/** The NICs of a machine as the kernel finds them. */
export function nicsOf(mac: string): Map<string, MachineLink> {
    const nic = (name: string, at: number): MachineLink => etherLink({ index: firstNic + at, name, mac, mtu: 1500 });
    return new Map(nicNames.map((name, at) => [name, { ...nic(name, at), up: true }]));
}

/** An Ethernet link outside of containers. */
export function etherLink(link: Pick<Link, "index" | "name" | "mtu"> & { readonly mac: string }): MachineLink {
    return {
        ...link,
        kind: "",
        type: 1,
        up: false,
        running: true,
        loopback: false,
        promiscuous: false,
        group: 0,
        altNames: [],
        netns: "",
    };
}
