import { execFile } from "node:child_process";
import { existsSync } from "node:fs";

/** The compiled program. The targets `test` and `integration` build it first. */
export const binary = new URL("../../dist/antctl", import.meta.url).pathname;

export interface Exit {
    readonly code: number;
    readonly stdout: string;
    readonly stderr: string;
}

export function requireBinary(): void {
    if (!existsSync(binary)) throw new Error(`${binary} is missing: run "npx nx build @antrea/antctl"`);
}

/** Runs the compiled program to its end, with nothing of the environment but what is given. */
export function antctl(
    words: readonly string[],
    o: {
        readonly env?: Readonly<Record<string, string>>;
        readonly input?: string;
        readonly program?: string;
        /** Called with what comes on its standard error, as it comes. */
        readonly onStderr?: (text: string) => void;
    } = {},
): Promise<Exit> {
    const env = { HOME: "/nonexistent", LANG: "C.UTF-8", ...o.env };
    return new Promise((resolve) => {
        const child = execFile(
            o.program ?? binary,
            words,
            { env, maxBuffer: 1 << 26, timeout: 120_000 },
            (error, stdout, stderr) => {
                const code = typeof error?.code === "number" ? error.code : error === null ? 0 : -1;
                resolve({ code, stdout, stderr });
            },
        );
        child.stderr?.on("data", (text: string) => o.onStderr?.(text));
        child.stdin?.on("error", () => undefined);
        child.stdin?.end(o.input ?? "");
    });
}
