/** The transport interface to other Nodes: its addresses and MTU, and the settings derived from them. */
export { TransportAnnouncement, type AnnouncementComponents } from "./announcement.ts";
export { mtuProblem, nodeMtuProblem, podMtu, type MtuInput } from "./mtu.ts";
export { Transport, type TransportComponents, type TransportState } from "./transport.ts";
