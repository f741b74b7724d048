/**
 * rtnetlink for the agent: links, addresses, routes, rules and neighbours of this or of another network namespace, and what
 * else the wiring of a Pod needs (namespaces, sysctls, ethtool offloads, gratuitous ARP), and the generation of nftables
 * rules. It starts no child process; the system calls go through koffi on the calling thread.
 */
export { type Batch } from "./batch.ts";
export { isNetlinkError, NetlinkError, type NetlinkErrorCode } from "./errors.ts";
export { gratuitousArp, unsolicitedNa } from "./frames.ts";
export { AddressFlag, NeighbourFlag, NeighbourState } from "./message/constants.ts";
export { RouteProtocol, RouteScope, RouteTable, RouteType } from "./message/route-constants.ts";
export { Netlink } from "./netlink.ts";
export { nftablesGeneration } from "./nftables.ts";
export { addAdvertisedRoute, type AdvertisedRoute } from "./system/advertised-route.ts";
export { receiveMerging, setReceiveMerging, setTxChecksumOffload, txChecksumOffload } from "./system/ethtool.ts";
export { inNetns, netnsIdentity } from "./system/namespace.ts";
export { getSysctl, setSysctl } from "./system/sysctl.ts";
export { type EventGroup, type NetlinkEvent, type SubscribeOptions } from "./types/event.ts";
export { type Neighbour, type NeighbourKey, type NeighbourOptions } from "./types/neighbour.ts";
export { type Rule } from "./types/rule.ts";
export { type NextHop, type Route, type RouteFilter, type RouteMetrics, type RouteOptions } from "./types/route.ts";
export { type Address, type AddressKey, type AddressLifetime, type AddressOptions } from "./types/address.ts";
export { type Link, type LinkChanges, type MacText, type VethOptions, type VethPeerOptions } from "./types/link.ts";
