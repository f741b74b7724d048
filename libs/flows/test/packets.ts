// Packets in the syntax of ovs-fields(7), for `ofproto/trace`. `start` names the port and the source MAC address.

export const v4 = (
    start: string,
    dstMac: string,
    src: string,
    dst: string,
    rest = "tcp,tp_dst=80,tcp_flags=syn",
): string => `${start},dl_dst=${dstMac},${rest},nw_src=${src},nw_dst=${dst},nw_ttl=64`;

export const v6 = (
    start: string,
    dstMac: string,
    src: string,
    dst: string,
    rest = "tcp6,tp_dst=80,tcp_flags=syn",
): string => `${start},dl_dst=${dstMac},${rest},ipv6_src=${src},ipv6_dst=${dst},nw_ttl=64`;

export const arp = (
    start: string,
    op: number,
    sender: string,
    hardware: string,
    target: string,
    dstMac = "ff:ff:ff:ff:ff:ff",
): string => `${start},dl_dst=${dstMac},arp,arp_op=${op},arp_spa=${sender},arp_sha=${hardware},arp_tpa=${target}`;

export const nd = (
    start: string,
    type: number,
    src: string,
    dst: string,
    target: string,
    rest = "",
    dstMac?: string,
): string =>
    `${start},dl_dst=${dstMac ?? "33:33:00:00:00:01"},icmp6,icmpv6_type=${type},icmpv6_code=0,ipv6_src=${src},` +
    `ipv6_dst=${dst},nw_ttl=255${type === 135 || type === 136 ? `,nd_target=${target}` : ""}${rest}`;
