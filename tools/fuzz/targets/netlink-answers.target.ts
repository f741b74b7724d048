import { NetlinkError } from "@antrea/netlink";
import {
    decodeAddress,
    decodeLink,
    decodeNeighbour,
    decodeRoute,
    decodeRule,
    encodeFrames,
    Exchange,
    queryAddresses,
    queryLink,
    queryLinks,
    queryNeighbours,
    queryRoutes,
    queryRules,
    setLink,
    type Channel,
} from "@antrea/netlink/fuzzing";
import * as captured from "@antrea/netlink/testing/captured";
import { type Target } from "../target.ts";

const done = { type: 3, flags: 2, sequence: 1, payload: new Uint8Array(4) };
const refused = {
    type: 2,
    flags: 0x300,
    sequence: 1,
    payload: Uint8Array.of(0xef, 0xff, 0xff, 0xff, ...new Uint8Array(16)),
};

/**
 * Answers to requests: dumps in several datagrams, acknowledgements, errors with their attributes. The first byte
 * selects the request, the second where the bytes are split into two datagrams.
 */
export const target: Target = {
    seeds: () => {
        const datagrams = Object.values(captured).filter((value) => value instanceof Uint8Array);
        return [0, 1, 2, 3, 4, 5].flatMap((request) => [
            ...datagrams.map((bytes) => join(request, bytes, encodeFrames([done]))),
            join(request, encodeFrames([refused])),
        ]);
    },
    run: async (input) => {
        const bytes = input.slice(2);
        // All answer the first request.
        for (let at = 0; at + 16 <= bytes.length;) {
            const view = new DataView(bytes.buffer, bytes.byteOffset);
            view.setUint32(at + 8, 1, true);
            const length = view.getUint32(at, true);
            if (length < 16 || length > bytes.length) break;
            at += (length + 3) & ~3;
        }
        const cut = ((input[1] ?? 0) * 4) % (bytes.length + 1);
        const exchange = new Exchange(new OneAnswer([bytes.subarray(0, cut), bytes.subarray(cut)]), {
            maxDumpObjects: 100,
        });
        switch ((input[0] ?? 0) % 6) {
            case 0:
                await exchange.dump(queryLinks(), decodeLink);
                return;
            case 1:
                await exchange.dump(queryAddresses(), decodeAddress);
                return;
            case 2:
                await exchange.dump(queryRoutes(4, {}), decodeRoute);
                await exchange.dump(queryRules(), decodeRule);
                return;
            case 3:
                await exchange.dump(queryNeighbours(), decodeNeighbour);
                return;
            case 4:
                exchange.ask(queryLink(2), decodeLink);
                return;
            default:
                exchange.change([setLink(2, { up: true })]);
        }
    },
    isRefusal: (error) => error instanceof NetlinkError && error.fault !== "internal",
};

class OneAnswer implements Channel {
    readonly #waiting: Uint8Array[];

    constructor(waiting: Uint8Array[]) {
        this.#waiting = waiting;
    }

    send(): void {
        // The answers have already been received.
    }

    async sendOnThread(): Promise<void> {
        // As above.
    }

    receive(): Uint8Array {
        const next = this.#waiting.shift();
        if (next === undefined) throw new NetlinkError("NO_ANSWER", "timeout", "nothing there");
        return next;
    }

    drain(): void {
        this.#waiting.length = 0;
    }
}

function join(request: number, ...parts: readonly Uint8Array[]): Uint8Array {
    return Uint8Array.from([request, 0, ...parts.flatMap((part) => [...part])]);
}
