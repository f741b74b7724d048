import { expect, it } from "@jest/globals";
import { fnv1a } from "../../src/platform/fnv1a.ts";

// test vectors of the authors' page
it.each([
    ["", 0x811c_9dc5],
    ["a", 0xe40c_292c],
    ["foobar", 0xbf9c_f968],
])("fnv1a of %j", (text, hash) => {
    expect(fnv1a(text)).toBe(hash);
});
