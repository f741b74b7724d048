/** Answers to packets to Services without endpoints. */
export { rejection } from "./answer.ts";
export { readPacket, type IpPacket } from "./packet.ts";
