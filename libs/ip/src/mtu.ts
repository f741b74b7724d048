/** The minimum MTU of a link for IPv6 (RFC 8200 section 5), in bytes; the kernel takes no IPv6 address on a smaller one. */
export const minMtuOfIpv6 = 1280;
