import { NetlinkError } from "@antrea/netlink";
import { decodeEvents, encodeFrames } from "@antrea/netlink/fuzzing";
import * as captured from "@antrea/netlink/testing/captured";
import { type Target } from "../target.ts";

/** Types of the messages that tell of links, addresses, routes and neighbours (rtnetlink(7)). */
const types = [16, 17, 20, 21, 24, 25, 28, 29];

/** Datagrams of the kernel about what changed. */
export const target: Target = {
    seeds: () => {
        const datagrams = Object.values(captured).filter((value) => value instanceof Uint8Array);
        const empty = types.map((type) => encodeFrames([{ type, flags: 0, sequence: 0, payload: new Uint8Array(16) }]));
        return [...datagrams, ...empty];
    },
    run: (input) => {
        decodeEvents(withLength(input));
    },
    isRefusal: (error) => error instanceof NetlinkError && error.fault === "peer",
};

/** Mostly the first message takes all of the datagram, so that what is inside is read. */
function withLength(input: Uint8Array): Uint8Array {
    const datagram = input.slice();
    if (datagram.length >= 16 && (datagram[12] ?? 0) % 4 === 0) {
        new DataView(datagram.buffer).setUint32(0, datagram.length, true);
    }
    return datagram;
}
