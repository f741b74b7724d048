import { sleep, systemClock, type Clock } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import { formatMac, ipToBytes, parseMac, sameIp, type IpAddress, type Prefix } from "@antrea/ip";
import { RouteProtocol, type Link, type Netlink, type Route } from "@antrea/netlink";
import { type Logger } from "@antrea/runtime";
import { removeIfDeviceIsLost, type VswitchdAckLimits } from "../../ovs/bridge/index.ts";
import { kernelSettings, type KernelSettings } from "../host.ts";
import type { NodeSysctls } from "./node-sysctls.ts";

/** The part of OvsBridge that the gateway uses, with the same arguments and errors. */
export interface GatewayPorts {
    port(name: string): { readonly mac: string | undefined } | undefined;
    ensurePort(
        spec: {
            readonly name: string;
            readonly type: "internal";
            readonly ofPortRequest: number;
            readonly externalIds: Readonly<Record<string, string>>;
            readonly mac: string;
            readonly mtuRequest: number;
        },
        signal?: AbortSignal,
    ): Promise<void>;
    deletePort(name: string, signal?: AbortSignal): Promise<void>;
    ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number>;
    /** Waits until ovs-vswitchd has applied the database contents. */
    acknowledged(limits?: VswitchdAckLimits): Promise<void>;
}

/** Settings of Gateway, constant but for `mtu`. */
export interface GatewayOptions {
    /** Of the port and of its device. */
    readonly name: string;
    /** The OpenFlow port number to request; OVS may assign another one. */
    readonly ofPort: number;
    /** Returns the current MTU in bytes. */
    readonly mtu: () => number;
    readonly podPrefixes: readonly Prefix[];
    /** The address for each of `podPrefixes`, in their order. */
    readonly gatewayIps: readonly IpAddress[];
    /** The interface through which Pod traffic leaves the Node. */
    readonly transportName: string;
    /**
     * Makes the kernel compute checksums before a frame enters OVS: the userspace datapath drops frames without them.
     */
    readonly disableTxChecksumOffload: boolean;
}

/**
 * - `NOT_READY`: no `gatewayIps`, or the MAC address is used before `ensurePort`.
 * - `NO_DEVICE`: OVS did not create the device within 10 s.
 */
export class GatewayError extends AntreaError<"NOT_READY" | "NO_DEVICE"> {}

const ofPortTimeoutMs = 10_000;
const linkTimeoutMs = 10_000;
const linkPollMs = 20;

/**
 * The gateway: the internal port through which Pod traffic enters and leaves the Node's network stack. It has the first
 * address of each podCIDR; its MAC address is derived from that and stored in OVSDB, so that it never changes for Pods.
 * The caller calls `ensurePort`, then `ensureDevice`, and repeats both, since others may change the device.
 */
export class Gateway {
    readonly #ports: GatewayPorts;
    readonly #netlink: Netlink;
    readonly #logger: Logger;
    readonly #sysctls: Pick<NodeSysctls, "set">;
    readonly #settings: KernelSettings;
    readonly #clock: Clock;
    readonly #options: GatewayOptions;
    #mac: Uint8Array | undefined;

    constructor(
        components: {
            readonly ports: GatewayPorts;
            readonly netlink: Netlink;
            readonly logger: Logger;
            /** Sets sysctls of the whole Node. */
            readonly sysctls: Pick<NodeSysctls, "set">;
            /** Default: the settings of the kernel. */
            readonly settings?: KernelSettings;
            /** Default: `systemClock`. */
            readonly clock?: Clock;
        },
        options: GatewayOptions,
    ) {
        this.#ports = components.ports;
        this.#netlink = components.netlink;
        this.#logger = components.logger;
        this.#sysctls = components.sysctls;
        this.#settings = components.settings ?? kernelSettings;
        this.#clock = components.clock ?? systemClock;
        this.#options = options;
    }

    /** The MAC address of the gateway; throws GatewayError `NOT_READY` before the first `ensurePort`. */
    get mac(): Uint8Array {
        if (this.#mac === undefined)
            throw new GatewayError("NOT_READY", "internal", "the gateway has no MAC before ensurePort");
        return this.#mac;
    }

    /**
     * Adds the port to OVSDB; again with the same MAC address if the database lost it, or if its device was deleted or
     * moved. Returns the OpenFlow port number, which may have changed. Idempotent. Rejects with GatewayError
     * `NOT_READY` without `gatewayIps`, OvsBridgeError, OvsdbError (`TIMEOUT`: no number within 10 s; `ABORTED`) or
     * NetlinkError.
     */
    async ensurePort(signal?: AbortSignal): Promise<number> {
        const { name } = this.#options;
        const stored = this.#ports.port(name)?.mac;
        this.#mac ??= stored === undefined ? macOfGateway(this.#options.gatewayIps[0]) : parseMac(stored);
        const ofPort = await this.#addPort(this.#mac, signal);
        if ((await this.#netlink.link(name)) !== undefined) return ofPort;
        const parts = { ports: this.#ports, netlink: this.#netlink, logger: this.#logger };
        if (await removeIfDeviceIsLost(parts, name, signal)) return this.#addPort(this.#mac, signal);
        // The number may be from an OVS process that has ended.
        return this.#ports.ofPort(name, ofPortTimeoutMs, signal);
    }

    async #addPort(mac: Uint8Array, signal: AbortSignal | undefined): Promise<number> {
        await this.#ports.ensurePort(
            {
                name: this.#options.name,
                type: "internal",
                ofPortRequest: this.#options.ofPort,
                externalIds: { "antrea-type": "gateway" },
                mac: formatMac(mac),
                mtuRequest: this.#options.mtu(),
            },
            signal,
        );
        return this.#ports.ofPort(this.#options.name, ofPortTimeoutMs, signal);
    }

    /**
     * Configures the device: up, MTU, MAC, addresses (others than these and link-local ones are removed), and
     * forwarding of the whole Node. Idempotent; changes only what differs, and what it has changed before a rejection
     * stays. Rejects with GatewayError `NO_DEVICE` if OVS does not create the device within 10 s, AsyncError `ABORTED`,
     * or NetlinkError.
     */
    async ensureDevice(signal?: AbortSignal): Promise<void> {
        const { name, podPrefixes, gatewayIps } = this.#options;
        const mtu = this.#options.mtu();
        const link = await this.#link(signal);
        this.#sysctls.set("net/ipv4/ip_forward", "1");
        // The spoof guard accepts ARP from the gateway only with its own address as sender.
        this.#settings.set(`net/ipv4/conf/${name}/arp_announce`, "1");
        this.#settings.set(`net/ipv4/conf/${name}/send_redirects`, "0");
        if (podPrefixes.some((prefix) => prefix.family === 6)) {
            await this.#keepRouterAdvertisements();
            this.#sysctls.set("net/ipv6/conf/all/forwarding", "1");
            this.#settings.set(`net/ipv6/conf/${name}/disable_ipv6`, "0");
        }
        if (this.#options.disableTxChecksumOffload) this.#settings.setTxChecksumOffload(name, false);
        if (!link.up || link.mtu !== mtu) await this.#netlink.setLink(link.index, { up: true, mtu });
        // Flows and neighbour entries use the MAC address of the database; udev and NetworkManager may change it on a
        // new device.
        if (this.#mac !== undefined && link.mac !== formatMac(this.#mac)) {
            await this.#netlink.setLink(link.index, { mac: formatMac(this.#mac) });
            this.#logger.warn("MAC address of the gateway was changed; restoring it", {
                device: name,
                found: link.mac,
            });
        }
        const present = await this.#netlink.addresses(link.index);
        const wanted = gatewayIps.map((ip, index) => ({ ip, prefixLength: podPrefixes[index]?.length ?? 0 }));
        for (const address of wanted) {
            if (present.some((one) => sameAddress(one, address))) continue;
            await this.#netlink.addAddress({ index: link.index, ...address, noDad: true });
            this.#logger.info("gateway address added", { device: name });
        }
        for (const address of present) {
            // fe80::/10 is managed by the kernel; all other addresses of this device are ours, and those of an old
            // podCIDR are removed.
            const linkLocal = address.ip.family === 6 && address.ip.value >> 118n === 0x3fan;
            if (linkLocal || wanted.some((one) => sameAddress(one, address))) continue;
            await this.#netlink.deleteAddress(address);
            this.#logger.info("stale gateway address removed", { device: name });
        }
    }

    /**
     * A forwarding host ignores router advertisements, and drops the default routes learned from them, unless
     * configured otherwise per interface. The Node may depend on them, on the transport interface or on another one.
     * Interfaces without such a route are not changed: advertisements from container links are not trustworthy.
     */
    async #keepRouterAdvertisements(): Promise<void> {
        const names = new Set([this.#options.transportName]);
        // Selected by the kernel: the link-local routes of Pods are thousands.
        const routes = await this.#netlink.routes({ family: 6, protocol: RouteProtocol.RA });
        const advertised = new Set(routes.filter(({ dst }) => dst.length === 0).flatMap(devicesOf));
        for (const index of advertised) {
            const link = await this.#netlink.link(index);
            if (link !== undefined) names.add(link.name);
        }
        for (const name of names) {
            const key = `net/ipv6/conf/${name}/accept_ra`;
            if (this.#settings.get(key) === "1") this.#sysctls.set(key, "2");
        }
    }

    async #link(signal: AbortSignal | undefined): Promise<Pick<Link, "index" | "up" | "mtu" | "mac">> {
        const deadline = this.#clock.monotonic() + linkTimeoutMs;
        for (;;) {
            const link = await this.#netlink.link(this.#options.name);
            if (link !== undefined) return link;
            if (this.#clock.monotonic() > deadline)
                throw new GatewayError(
                    "NO_DEVICE",
                    "environment",
                    `OVS did not create the device ${this.#options.name}; see the log of ovs-vswitchd`,
                );
            await sleep(linkPollMs, signal, this.#clock);
        }
    }
}

function devicesOf({ dev, nextHops }: Pick<Route, "dev" | "nextHops">): readonly number[] {
    return [dev, ...nextHops.map((hop) => hop.dev)].filter((index) => index !== undefined);
}

function sameAddress(
    one: { readonly ip: IpAddress; readonly prefixLength: number },
    other: { readonly ip: IpAddress; readonly prefixLength: number },
): boolean {
    return sameIp(one.ip, other.ip) && one.prefixLength === other.prefixLength;
}

/**
 * The MAC address of the gateway: 0a:59 and the last four bytes of its first address. Not random, so that it is the
 * same after the database was lost while Pods still have it cached.
 */
function macOfGateway(ip: IpAddress | undefined): Uint8Array {
    if (ip === undefined) throw new GatewayError("NOT_READY", "internal", "the gateway has no address");
    return Uint8Array.of(0x0a, 0x59, ...ipToBytes(ip).slice(-4));
}
