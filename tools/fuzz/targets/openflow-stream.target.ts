import { FrameSplitter, OpenFlowError } from "@antrea/openflow";
import { chunks, fileText, fromHex } from "../fixture.ts";
import { BrokenProperty, mustEqual, type Target } from "../target.ts";

const maxMessageBytes = 65_535;

/** Messages split from a stream: the same ones for every segmentation. */
export const target: Target = {
    seeds: () => {
        const all = JSON.parse(fileText("libs/openflow/test/fixtures/messages.json")) as readonly { hex: string }[];
        const short = all.map(({ hex }) => hex).filter((hex) => hex.length < 400);
        return [0, 8, 16].map((from) => fromHex(short.slice(from, from + 8).join("")));
    },
    run: (input) => {
        const whole = cut([input]);
        const pieces = cut(chunks(input));
        // With small segments a rejection may come later, but never after more messages.
        mustEqual("the messages of a stream in one piece and in many", pieces, whole);
    },
    isRefusal: (error) => error instanceof OpenFlowError && error.fault === "remote",
};

function cut(parts: Iterable<Uint8Array>): object {
    const splitter = new FrameSplitter();
    const frames: Uint8Array[] = [];
    // What came in and is in no message is held.
    let held = 0;
    try {
        for (const part of parts) {
            held += part.length;
            for (const frame of splitter.push(part)) {
                held -= frame.length;
                frames.push(frame.slice());
            }
            if (held >= maxMessageBytes) throw new BrokenProperty(`${held} bytes are held, which is a message`);
        }
    } catch (error) {
        if (!(error instanceof OpenFlowError)) throw error;
        return { frames, refused: error.code };
    }
    return { frames, held };
}
