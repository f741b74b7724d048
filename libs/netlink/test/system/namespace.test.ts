import { readdirSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { RequestBatch } from "../../src/batch.ts";
import { inNetnsWith, type NamespaceComponents } from "../../src/system/namespace.ts";
import { setSysctl } from "../../src/system/sysctl.ts";

class Aborted extends Error {}

/** A kernel whose n-th setns fails with the given errno. */
function failing(at: number, errno: number): NamespaceComponents & { readonly calls: number[] } {
    const calls: number[] = [];
    return {
        calls,
        libc: {
            setns: (fd) => {
                calls.push(fd);
                return calls.length === at ? -1 : 0;
            },
            errno: () => errno,
        },
        abort: (message) => {
            throw new Aborted(message);
        },
    };
}

// The namespace of the test itself serves as another one here.
const PATH = "/proc/self/ns/net";

describe("inNetns", () => {
    it("goes in, runs, comes back", () => {
        const machine = failing(0, 0);
        expect(inNetnsWith(machine, PATH, () => machine.calls.length)).toBe(1);
        expect(new Set(machine.calls).size).toBe(2);
    });

    it("comes back when the work throws", () => {
        const machine = failing(0, 0);
        const work = (): never => {
            throw new Error("work failed");
        };
        expect(() => inNetnsWith(machine, PATH, work)).toThrow("work failed");
        expect(machine.calls).toHaveLength(2);
    });

    it("ends the process if it cannot come back, whatever became of the work", () => {
        expect(() => inNetnsWith(failing(2, 1), PATH, () => 1)).toThrow(Aborted);
        const work = (): never => {
            throw new Error("work failed");
        };
        expect(() => inNetnsWith(failing(2, 1), PATH, work)).toThrow(Aborted);
    });

    it.each([
        ["not permitted", 1, "EPERM"],
        ["no namespace", 22, "NOT_A_NETNS"],
    ])("runs nothing and does not go back if it cannot go in: %s", (_, errno, code) => {
        const machine = failing(1, errno);
        const work = (): never => {
            throw new Error("ran");
        };
        expect(() => inNetnsWith(machine, PATH, work)).toThrow(expect.objectContaining({ code }));
        expect(machine.calls).toHaveLength(1);
    });

    it("refuses work that is not synchronous, after coming back", () => {
        const machine = failing(0, 0);
        expect(() => inNetnsWith(machine, PATH, () => Promise.reject(new Error("late")))).toThrow(
            expect.objectContaining({ code: "BAD_ARGUMENT" }),
        );
        expect(machine.calls).toHaveLength(2);
    });

    it("reports which path is not there", () => {
        expect(() => inNetnsWith(failing(0, 0), "/var/run/netns/none-such", () => 1)).toThrow(
            expect.objectContaining({
                code: "ENOENT",
                message: "open network namespace /var/run/netns/none-such: ENOENT",
            }),
        );
    });
});

describe("setLink into a namespace", () => {
    const open = (): number => readdirSync("/proc/self/fd").length;

    it.each([
        ["another file", "/proc/self/status", "NOT_A_NETNS"],
        ["a folder", "/proc/self", "NOT_A_NETNS"],
        ["nothing", "/var/run/netns/none-such", "ENOENT"],
    ])("refuses %s, and leaves no descriptor open", (_, netnsPath, code) => {
        using batch = new RequestBatch();
        const before = open();
        expect(() => batch.setLink(2, { netnsPath })).toThrow(expect.objectContaining({ code, fault: "environment" }));
        expect(open()).toBe(before);
    });

    it("keeps it open until it is disposed of", () => {
        const before = open();
        const batch = new RequestBatch();
        batch.setLink(2, { netnsPath: PATH });
        expect(open()).toBe(before + 1);
        batch[Symbol.dispose]();
        expect(open()).toBe(before);
    });
});

describe("setSysctl", () => {
    it.each(["kernel/panic", "net/../kernel/panic", "/net/ipv4/ip_forward", "net", "net//x", "net/."])(
        "refuses the key %s",
        (key) => {
            expect(() => setSysctl(undefined, key, "1")).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" }));
        },
    );
});
