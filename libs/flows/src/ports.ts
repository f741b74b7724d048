/**
 * OpenFlow port numbers that the agent requests (`ofport_request`); OVS itself assigns 1 to 32767
 * (ovs-vswitchd.conf.db(5)). No port has the number `none`.
 */
export const OfPort = { tunnel: 32768, gateway: 32769, uplink: 32770, host: 32771, none: 32783 } as const;

/** Range of OpenFlow port numbers that the agent requests for Pods, both ends included. */
export const podOfPorts = { first: 32784, last: 65279 } as const;
