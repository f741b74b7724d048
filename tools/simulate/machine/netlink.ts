import { NetlinkError, type Link, type LinkChanges, type Netlink, type VethOptions } from "@antrea/netlink";
import { type LocalIo } from "./io.ts";
import { type Machine } from "./machine.ts";

/** The kernel's links of a machine, as far as Pods are concerned. */
export class MachineLinks {
    readonly #machine: Machine;
    readonly #io: LocalIo;

    constructor(machine: Machine, io: LocalIo) {
        this.#machine = machine;
        this.#io = io;
    }

    /** As the code of the agent takes it: of a Netlink it uses no more than what is here. */
    static of(machine: Machine, io: LocalIo): Netlink {
        return new MachineLinks(machine, io) as unknown as Netlink;
    }

    links(): Promise<Link[]> {
        return this.#io.call(() => [...this.#machine.links.values()]);
    }

    link(key: string | number): Promise<Link | undefined> {
        return this.#io.call(() => this.#find(key));
    }

    createVeth({ name, mtu, alias, group = 0, mac = "", peer }: VethOptions): Promise<void> {
        return this.#io.call(() => {
            const { links, netns } = this.#machine;
            const inside = netns.get(peer.netnsPath);
            if (inside === undefined) throw kernelError("ENOENT", `${peer.netnsPath} is gone`);
            if (links.has(name) || inside.hostIfName !== undefined) throw kernelError("EEXIST", `${name} is there`);
            inside.hostIfName = name;
            inside.mac = peer.mac;
            links.set(name, {
                index: this.#machine.nextIndex(),
                name,
                kind: "veth",
                type: 1,
                mac,
                mtu,
                up: true,
                running: true,
                loopback: false,
                promiscuous: false,
                group,
                altNames: [],
                netns: peer.netnsPath,
                ...(alias !== undefined && { alias }),
            });
        });
    }

    setLink(index: number, { alias, mtu, up, group }: LinkChanges): Promise<void> {
        return this.#io.call(() => {
            const link = this.#find(index);
            if (link === undefined) throw kernelError("ENODEV", `link ${index} is gone`);
            this.#machine.links.set(link.name, {
                ...link,
                ...(alias !== undefined && { alias }),
                ...(mtu !== undefined && { mtu }),
                ...(up !== undefined && { up }),
                ...(group !== undefined && { group }),
            });
        });
    }

    deleteLink(key: string | number): Promise<boolean> {
        return this.#io.call(() => {
            const link = this.#find(key);
            if (link !== undefined) this.#machine.deleteLink(link.name);
            return link !== undefined;
        });
    }

    routes(): Promise<readonly never[]> {
        return Promise.resolve([]);
    }

    #find(key: string | number): (Link & { readonly netns: string }) | undefined {
        const { links } = this.#machine;
        return typeof key === "string" ? links.get(key) : [...links.values()].find(({ index }) => index === key);
    }
}

function kernelError(code: `E${string}`, message: string): NetlinkError {
    return new NetlinkError(code, "environment", message);
}
