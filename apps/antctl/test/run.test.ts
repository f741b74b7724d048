import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { run } from "../src/run.ts";
import { version } from "../src/version.ts";

interface Ran {
    readonly code: number;
    readonly out: string;
    readonly err: string;
}

/** With a cluster that nobody reaches. */
async function antctl(...words: readonly string[]): Promise<Ran> {
    let [out, err] = ["", ""];
    const environment = { HOME: "/nonexistent", KUBECONFIG: "/nonexistent/config" };
    const code = await run("antctl", words, {
        terminal: { isTty: false, columns: undefined, environment },
        writeOut: (text) => (out += text),
        writeErr: (text) => (err += text),
        readSources: () => [],
        now: () => 0,
        sleep: async () => undefined,
    });
    return { code, out, err };
}

describe("what people type", () => {
    it("--version", async () => {
        expect(await antctl("--version")).toEqual({ code: 0, out: `antctl ${version}\n`, err: "" });
    });

    it("version, where there is no cluster to ask", async () => {
        const { code, out, err } = await antctl("version");
        expect({ code, out }).toEqual({ code: 0, out: `antctl ${version}\n` });
        expect(err).toMatch(/^the versions of the cluster are not known: .*nonexistent.*\n$/);
        expect(await antctl("version", "--client")).toEqual({ code: 0, out: `antctl ${version}\n`, err: "" });
        const asJson = JSON.parse((await antctl("version", "-o", "json")).out) as unknown;
        expect(asJson).toEqual({ version, problem: expect.stringContaining("nonexistent") });
    });

    it("help of a command", async () => {
        const asked = await antctl("help", "ipam", "who");
        expect(asked).toEqual(await antctl("ipam", "who", "--help"));
        expect(asked.out).toMatch(/^Usage: antctl ipam who /);
        expect((await antctl("help")).out).toMatch(/^Usage: antctl /);
    });

    it.each([
        [["-n", "ux-b", "ipam", "show"]],
        [["ipam", "-n", "ux-b", "who", "10.0.0.1"]],
        [["ipam", "explain", "pod", "z", "-n", "ux-b"]],
        [["ipam", "explain", "pod", "pod/z", "-n", "ux-b"]],
        [["ipam", "explain", "pod", "ux-b/z", "--namespace=ux-b"]],
    ])("-n everywhere: %j", async (words) => {
        const { code, err } = await antctl(...words);
        // It gets as far as the kubeconfig, which is not there.
        expect(err).toMatch(/kubeconfig|nonexistent/);
        expect(code).toBe(1);
    });

    it("two Namespaces that contradict each other", async () => {
        const folder = mkdtempSync(join(tmpdir(), "antctl-"));
        const config = join(folder, "config");
        writeFileSync(
            config,
            JSON.stringify({
                "current-context": "c",
                clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
                users: [{ name: "u", user: {} }],
                contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
            }),
        );
        const { code, err } = await antctl("ipam", "explain", "pod", "ux-b/z", "-n", "ux-a", "--kubeconfig", config);
        rmSync(folder, { recursive: true });
        expect(err).toBe(
            'error: "ux-b/z" is in Namespace ux-b, and --namespace is ux-a\n  next: leave one of them out\n',
        );
        expect(code).toBe(64);
    });
});
