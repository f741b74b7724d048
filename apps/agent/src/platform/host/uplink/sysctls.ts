import { getSysctl, isNetlinkError, setSysctl } from "@antrea/netlink";

type Group = "ipv4" | "ipv6";

/**
 * The per-interface sysctls that are copied to the host port: they define how the Node's network stack treats traffic
 * of the interface. Excluded are those that the kernel maintains itself, and `disable_ipv6` and `addr_gen_mode`, which
 * are set at a specific step.
 */
const taken: Readonly<Record<Group, readonly string[]>> = {
    ipv4: [
        "rp_filter",
        "forwarding",
        "proxy_arp",
        "proxy_arp_pvlan",
        "accept_local",
        "accept_redirects",
        "send_redirects",
        "secure_redirects",
        "shared_media",
        "accept_source_route",
        "arp_announce",
        "arp_filter",
        "arp_ignore",
        "arp_accept",
        "arp_notify",
        "route_localnet",
        "src_valid_mark",
        "log_martians",
        "promote_secondaries",
        "disable_policy",
        "disable_xfrm",
        "drop_gratuitous_arp",
        "drop_unicast_in_l2_multicast",
        "ignore_routes_with_linkdown",
    ],
    ipv6: [
        // forwarding first: writing it makes the kernel change the meaning of others
        "forwarding",
        "accept_ra",
        "accept_ra_defrtr",
        "accept_ra_from_local",
        "accept_ra_min_hop_limit",
        "accept_ra_mtu",
        "accept_ra_pinfo",
        "accept_ra_rt_info_min_plen",
        "accept_ra_rt_info_max_plen",
        "accept_ra_rtr_pref",
        "ra_defrtr_metric",
        "accept_redirects",
        "accept_source_route",
        "accept_dad",
        "dad_transmits",
        "autoconf",
        "use_tempaddr",
        "temp_valid_lft",
        "temp_prefered_lft",
        "max_addresses",
        "hop_limit",
        "keep_addr_on_down",
        "ndisc_notify",
        "ndisc_tclass",
        "drop_unicast_in_l2_multicast",
        "drop_unsolicited_na",
        "ignore_routes_with_linkdown",
        "proxy_ndp",
        "router_solicitations",
        "router_solicitation_interval",
        "router_solicitation_max_interval",
        "router_solicitation_delay",
        "suppress_frag_ndisc",
        "use_oif_addrs_only",
    ],
};

/**
 * Copies the per-interface sysctls that define how the network stack treats traffic from one interface to another, both
 * given by name: each that both have and that differs. A value that the kernel rejects is skipped. Throws NetlinkError.
 */
export function copySysctls(from: string, to: string): void {
    for (const group of ["ipv4", "ipv6"] as const) {
        for (const key of taken[group]) {
            const wanted = readSysctl(group, from, key);
            if (wanted !== undefined && readSysctl(group, to, key) !== wanted) writeSysctl(group, to, key, wanted);
        }
    }
}

/**
 * Reads net/GROUP/conf/INTERFACE/KEY, as text without a line break; undefined if the kernel lacks it, or IPv6 is off
 * for the interface. Throws NetlinkError.
 */
export function readSysctl(group: Group, interfaceName: string, key: string): string | undefined {
    try {
        return getSysctl(undefined, path(group, interfaceName, key));
    } catch (error) {
        if (isNetlinkError(error, "ENOENT", "EIO")) return undefined;
        throw error;
    }
}

/** Writes net/GROUP/conf/INTERFACE/KEY; no effect if the kernel lacks it or rejects the value. Throws NetlinkError. */
export function writeSysctl(group: Group, interfaceName: string, key: string, value: string): void {
    try {
        setSysctl(undefined, path(group, interfaceName, key), value);
    } catch (error) {
        // EINVAL: the kernel does not accept every value that it reports, e.g. the state of a setting that was never
        // set.
        if (!isNetlinkError(error, "ENOENT", "EINVAL")) throw error;
    }
}

function path(group: Group, interfaceName: string, key: string): string {
    return `net/${group}/conf/${interfaceName}/${key}`;
}
