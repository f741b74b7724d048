/** Internals that read the kernel's messages, for tools/fuzz only. */
export { decodeAddress, queryAddresses } from "./message/address.ts";
export { encodeFrames } from "./message/frame.ts";
export { decodeLink, queryLink, queryLinks, setLink } from "./message/link.ts";
export { decodeNeighbour, queryNeighbours } from "./message/neighbour.ts";
export { queryRoutes } from "./message/route.ts";
export { decodeRoute } from "./message/decode-route.ts";
export { decodeRule, queryRules } from "./message/rule.ts";
export { type Channel } from "./socket/channel.ts";
export { decodeEvents } from "./socket/events.ts";
export { Exchange } from "./socket/exchange.ts";
