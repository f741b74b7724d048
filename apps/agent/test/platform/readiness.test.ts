import { describe, expect, it } from "@jest/globals";
import { openflowProblem, Readiness } from "../../src/platform/readiness.ts";

function two(): Readiness {
    return new Readiness({ ovsdb: "no database", node: "no podCIDR" });
}

describe("readiness", () => {
    it("names all that is missing until all is met", () => {
        const readiness = two();
        expect(readiness.missing()).toBe("no database; no podCIDR");
        readiness.met("ovsdb");
        expect(readiness.missing()).toBe("no podCIDR");
        readiness.met("node");
        expect(readiness.missing()).toBeUndefined();
    });

    it("can be lost again, with another reason", () => {
        const readiness = two();
        readiness.met("node");
        readiness.met("ovsdb");
        readiness.unmet("ovsdb", "the database is gone");
        expect(readiness.missing()).toBe("the database is gone");
    });

    it("wakes everybody who waits, once", async () => {
        const readiness = two();
        const signal = new AbortController().signal;
        const waiting = Promise.all([readiness.ready(signal), readiness.ready(signal)]);
        readiness.met("node");
        readiness.met("ovsdb");
        await waiting;
        await readiness.ready(AbortSignal.abort());
    });

    it("who gives up is informed what is missing", async () => {
        const readiness = two();
        const stop = new AbortController();
        const waiting = readiness.ready(stop.signal);
        stop.abort();
        await expect(waiting).rejects.toMatchObject({ code: "NOT_READY", message: "no database; no podCIDR" });
        await expect(readiness.ready(AbortSignal.abort())).rejects.toMatchObject({ code: "NOT_READY" });
    });
});

describe("the connection to ovs-vswitchd", () => {
    it.each([
        ["closed", "ovs-vswitchd is not connected"],
        ["connecting", "ovs-vswitchd is not connected"],
        ["replaying", "ovs-vswitchd does not have all flows again"],
        ["ready", undefined],
    ] as const)("that is %s: %s", (kind, problem) => {
        expect(openflowProblem({ kind, datapathId: 42n })).toBe(problem);
    });
});
