import { NetlinkError } from "@antrea/netlink";
import { decodeEvents, encodeFrames } from "@antrea/netlink/fuzzing";
import * as captured from "@antrea/netlink/testing/captured";
import { type Target } from "../target.ts";

/** Types of the messages about links, addresses, routes and neighbours (rtnetlink(7)). */
const types = [16, 17, 20, 21, 24, 25, 28, 29];

/** Datagrams with change events of the kernel. */
export const target: Target = {
    seeds: () => {
        const datagrams = Object.values(captured).filter((value) => value instanceof Uint8Array);
        const empty = types.map((type) => encodeFrames([{ type, flags: 0, sequence: 0, payload: new Uint8Array(16) }]));
        return [...datagrams, ...empty];
    },
    run: (input) => {
        decodeEvents(withLength(input));
    },
    isRefusal: (error) => error instanceof NetlinkError && error.fault === "remote",
};

/** Usually makes the first message fill the datagram, so that its content is parsed. */
function withLength(input: Uint8Array): Uint8Array {
    const datagram = input.slice();
    if (datagram.length >= 16 && (datagram[12] ?? 0) % 4 === 0) {
        new DataView(datagram.buffer).setUint32(0, datagram.length, true);
    }
    return datagram;
}
