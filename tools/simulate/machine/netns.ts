import { type IpAddress } from "@antrea/ip";
import { type Container } from "../check/truth.ts";

/** An interface in a container's network namespace that the agent makes. */
export interface NetnsEnd {
    /** In the namespace. */
    readonly index: number;
    readonly ifName: string;
    /** The host end of its veth pair. */
    readonly hostIfName: string;
    mac: string;
    readonly mtu: number;
    readonly addresses: IpAddress[];
}

/** A container's network namespace. */
export interface Netns {
    readonly path: string;
    readonly container: Container;
    /** By name of the interface. */
    readonly ends: Map<string, NetnsEnd>;
    /** The addresses of interfaces that other plugins made, by name of the interface. */
    readonly ofOthers: Map<string, readonly IpAddress[]>;
}

/** An empty namespace. */
export function newNetns(container: Container): Netns {
    return { path: `/run/netns/${container.id}`, container, ends: new Map(), ofOthers: new Map() };
}
