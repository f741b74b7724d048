import { describe, expect, it } from "@jest/globals";
import { parseFlags } from "../src/flags.ts";

describe("parseFlags", () => {
    it.each([
        [[], { config: undefined, verbosity: 0, version: false }],
        [["--config", "/etc/antrea/a.conf", "--v=4"], { config: "/etc/antrea/a.conf", verbosity: 4, version: false }],
        [["--check", "--config=a"], { config: "a", check: true, version: false }],
        [["--print-start-order"], { printStartOrder: true, check: false, version: false }],
        [["--version"], { config: undefined, verbosity: 0, version: true }],
    ])("%j", (args, flags) => {
        expect(parseFlags(args)).toMatchObject(flags);
    });

    it("knows the program's own flags instead of --config", () => {
        const known = { port: "N", kubeconfig: "FILE" };
        expect(parseFlags(["--port=9443", "--v", "1"], known)).toEqual({
            config: undefined,
            verbosity: 1,
            version: false,
            check: false,
            printStartOrder: false,
            own: { port: "9443" },
        });
        expect(() => parseFlags(["--config", "x"], known)).toThrow(
            "known are --port N, --kubeconfig FILE, --v N, --check, --print-start-order, --version",
        );
    });

    it.each([[["run"]], [["--confg", "x"]], [["--config"]], [["--v", "high"]], [["--v=-1"]]])("refuses %j", (args) => {
        expect(() => parseFlags(args)).toThrow(expect.objectContaining({ code: "BAD_FLAGS", fault: "caller" }));
    });
});
