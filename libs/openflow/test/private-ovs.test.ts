import { afterEach, describe, expect, it } from "@jest/globals";
import { PrivateOvs, PrivateOvsError } from "../src/testing/index.ts";

describe("PrivateOvs", () => {
    const path = process.env.PATH;
    afterEach(() => {
        process.env.PATH = path;
    });

    it("names the program that does not start, be it the first", async () => {
        process.env.PATH = "/nonexistent";
        const started = PrivateOvs.start();
        await expect(started).rejects.toBeInstanceOf(PrivateOvsError);
        await expect(started).rejects.toMatchObject({
            code: "OVS_PROGRAM_FAILED",
            message: expect.stringMatching(/^ovsdb-tool create /),
        });
    });
});
