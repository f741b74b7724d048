/** OpenFlow port numbers that are asked for by number; OVS itself gives out 1 to 32767. */
export const OfPort = { tunnel: 32768, gateway: 32769, uplink: 32770, host: 32771 } as const;

/** The port numbers that Pods get, both ends included. */
export const podOfPorts = { first: 32784, last: 65279 } as const;
