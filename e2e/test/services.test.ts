import { describe, expect, it } from "@jest/globals";
import { readRequests } from "../fixture/services.ts";

describe("what curl wrote about requests", () => {
    it("has who answered, how often", () => {
        const answered = new Map([
            ["web-1", 2],
            ["web-2", 1],
        ]);
        expect(readRequests("web-1\nweb-2\nweb-1\n", 3)).toEqual({ answered, failures: [] });
    });

    it.each([
        { what: "a refusal", line: "curl: (7) Failed to connect to 10.96.0.1 port 80", is: undefined },
        { what: "an answer without a name", line: "", is: "1 without an answer" },
    ])("is a failure: $what", ({ line, is = line }) => {
        expect(readRequests(`web-1\n${line}\n`, 2)).toEqual({ answered: new Map([["web-1", 1]]), failures: [is] });
    });

    it("is a failure if only a part of an answer came", () => {
        const error = "curl: (18) transfer closed with 6 bytes remaining to read";
        expect(readRequests(`${error}\nweb\n`, 1).failures).toEqual([error]);
    });
});
