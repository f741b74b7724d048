/** The interface to other Nodes: which addresses and MTU it has, and what follows from them. */
export { TransportAnnouncement, type AnnouncementComponents } from "./announcement.ts";
export { mtuProblem, nodeMtuProblem, podMtu, type MtuInput } from "./mtu.ts";
export { Transport, type TransportComponents, type TransportState } from "./transport.ts";
