/**
 * OpenFlow port numbers that the agent requests (`ofport_request`); OVS itself assigns 1 to 32767
 * (ovs-vswitchd.conf.db(5)).
 */
export const OfPort = { tunnel: 32768, gateway: 32769, uplink: 32770, host: 32771 } as const;

/** Range of OpenFlow port numbers that the agent requests for Pods, both ends included. */
export const podOfPorts = { first: 32784, last: 65279 } as const;
