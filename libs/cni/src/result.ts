/**
 * The result of ADD in its newest form (CNI specification 1.1, section "ADD Success"). Addresses are text, as the
 * runtime gets them; `dns` is {} if there are no settings. `convertResult` converts it to an older version,
 * `parseResult` parses any version.
 */
export interface CniResult {
    readonly interfaces: readonly CniInterface[];
    readonly ips: readonly CniIp[];
    readonly routes: readonly CniRoute[];
    readonly dns: CniDns;
}

/** An interface that ADD created, in the container or on the host. */
export interface CniInterface {
    readonly name: string;
    /** "aa:bb:cc:dd:ee:ff". */
    readonly mac?: string;
    /** Bytes; since 1.1. */
    readonly mtu?: number;
    /** Path of the network namespace; absent for an interface of the host. */
    readonly sandbox?: string;
    /** Absolute path of the socket file of the interface; since 1.1. */
    readonly socketPath?: string;
    /** Platform-specific identifier of the PCI device of the interface; since 1.1. */
    readonly pciID?: string;
}

/** An address of an interface. */
export interface CniIp {
    /** Address and prefix length, "10.0.0.5/24". */
    readonly address: string;
    /** Default gateway of its subnet. */
    readonly gateway?: string;
    /** Index in `interfaces`. */
    readonly interface?: number;
}

/** A route of the container (CNI specification 1.1, "ADD Success"). All but `dst` and `gw` are new in 1.1. */
export interface CniRoute {
    /** Prefix, "0.0.0.0/0". */
    readonly dst: string;
    /** Next hop; if it is absent, the gateway of an entry of `ips` may be used. */
    readonly gw?: string;
    /** Bytes. */
    readonly mtu?: number;
    /** The largest TCP segment to advertise to the destination, in bytes. */
    readonly advmss?: number;
    /** Metric; the lowest is preferred. */
    readonly priority?: number;
    /** Number of the routing table. */
    readonly table?: number;
    /** 0 universe, 253 link, 254 host (rtnetlink(7)). */
    readonly scope?: number;
}

/**
 * DNS settings of the container (CNI specification, `dns`), with the meaning of resolv.conf(5). Absent: not set.
 * `nameservers` are IP addresses in order of preference; no text is checked.
 */
export interface CniDns {
    readonly nameservers?: readonly string[];
    readonly domain?: string;
    readonly search?: readonly string[];
    readonly options?: readonly string[];
}
