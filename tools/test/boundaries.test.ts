import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it } from "@jest/globals";

const root = new URL("../../", import.meta.url).pathname;

/**
 * ESLint in a process of its own, as ESLint and Nx keep state that a test runner's module sandbox breaks. One process for
 * all texts: it takes seconds until it has read the configuration and the graph of projects.
 */
class Linter {
    readonly #child: ChildProcess;
    readonly #answers: AsyncIterator<string>;

    constructor() {
        const script = `
            import { createInterface } from "node:readline";
            import { ESLint } from "eslint";
            const eslint = new ESLint({ cwd: ${JSON.stringify(root)} });
            for await (const line of createInterface({ input: process.stdin })) {
                const { filePath, text } = JSON.parse(line);
                const [{ messages }] = await eslint.lintText(text, { filePath });
                console.log(JSON.stringify(messages.map((message) => message.ruleId + ": " + message.message)));
            }`;
        this.#child = spawn("node", ["--input-type=module", "-e", script], {
            cwd: root,
            env: { ...process.env, NX_DAEMON: "false" },
            stdio: ["pipe", "pipe", "inherit"],
        });
        const { stdout } = this.#child;
        if (stdout === null) throw new Error("the linter has no output");
        this.#answers = createInterface({ input: stdout })[Symbol.asyncIterator]();
    }

    /** One text after the other: the answers come in their order. */
    async broken(filePath: string, text: string): Promise<readonly string[]> {
        this.#child.stdin?.write(`${JSON.stringify({ filePath, text })}\n`);
        for (;;) {
            const { value, done } = await this.#answers.next();
            if (done === true) throw new Error("the linter has ended");
            // what else Nx writes is no answer
            if (value.startsWith("[")) return JSON.parse(value) as string[];
        }
    }

    stop(): void {
        this.#child.kill();
    }
}

const linter = new Linter();
afterAll(() => linter.stop());

/** The rules that this text would break as the content of that file, which the linter then keeps for the next ones. */
function broken(path: string, text: string): Promise<readonly string[]> {
    return linter.broken(`${root}${path}`, text);
}

const use = (name: string, from: string): string =>
    `import * as ${name} from "${from}";\nexport const used = ${name};\n`;

describe("import directions", () => {
    it.each([
        [
            "a wire library uses I/O",
            "libs/errors/src/fields.ts",
            use("kube", "@antrea/kube"),
            "@nx/enforce-module-boundaries",
        ],
        [
            "a domain library uses I/O",
            "libs/flows/src/pipeline.ts",
            use("netlink", "@antrea/netlink"),
            "@nx/enforce-module-boundaries",
        ],
        [
            "I/O uses a domain library",
            "libs/netlink/src/netlink.ts",
            use("flows", "@antrea/flows"),
            "@nx/enforce-module-boundaries",
        ],
        [
            "a library reaches into another by path",
            "libs/flows/src/pipeline.ts",
            use("ip", "../../ip/src/address.ts"),
            "@nx/enforce-module-boundaries",
        ],
        [
            "a tool reaches into a program by path",
            "tools/simulate/cluster/agent.ts",
            use("pools", "../../../apps/agent/src/features/ip-pools/index.ts"),
            "@nx/enforce-module-boundaries",
        ],
        [
            "a tool reaches into another by path",
            "tools/bench/main.ts",
            use("render", "../chart/test/render.ts"),
            "@nx/enforce-module-boundaries",
        ],
        [
            "a program uses a tool",
            "apps/agent/src/main.ts",
            use("page", "@antrea/testing-page"),
            "@nx/enforce-module-boundaries",
        ],
        [
            "a program uses another",
            "apps/controller/src/main.ts",
            use("pools", "@antrea/agent/features/ip-pools"),
            "@nx/enforce-module-boundaries",
        ],
        [
            "a library uses a program",
            "libs/kube/src/index.ts",
            use("pools", "@antrea/agent/features/ip-pools"),
            "@nx/enforce-module-boundaries",
        ],
        [
            "a program uses what only tools may",
            "apps/agent/src/main.ts",
            use("netlink", "@antrea/netlink/fuzzing"),
            "no-restricted-imports",
        ],
        [
            "a comment makes an exception",
            "tools/simulate/cluster/agent.ts",
            `/* eslint-disable @nx/enforce-module-boundaries */\n${use("pools", "../../../apps/agent/src/features/ip-pools/index.ts")}`,
            "no-warning-comments",
        ],
        ["a pure library uses Node.js", "libs/ip/src/address.ts", use("fs", "node:fs"), "no-restricted-imports"],
        ["a codec uses Node.js", "libs/openflow/src/codec/port.ts", use("net", "node:net"), "no-restricted-imports"],
        [
            "a pure library uses a connection",
            "libs/flows/src/pipeline.ts",
            use("c", "@antrea/openflow/connection"),
            "no-restricted-imports",
        ],
        [
            "a program uses a fake",
            "apps/agent/src/main.ts",
            use("t", "@antrea/openflow/testing"),
            "no-restricted-imports",
        ],
        [
            "a feature uses another feature",
            "apps/agent/src/features/masquerade/masquerade.ts",
            use("peers", "../node-routes/peers.ts"),
            "house/app-floors",
        ],
        [
            "a folder of a feature uses a type of another feature",
            "apps/agent/src/features/bridging/bridged-pods/bridged-pods.ts",
            `import type { Peers } from "../../node-routes/peers.ts";\nexport type Used = Peers;\n`,
            "house/app-floors",
        ],
        [
            "a feature uses another feature by the exports of the program",
            "apps/agent/src/features/masquerade/masquerade.ts",
            use("pools", "@antrea/agent/features/ip-pools"),
            "house/app-floors",
        ],
        [
            "a feature exports another feature's",
            "apps/agent/src/features/masquerade/index.ts",
            `export * from "../node-routes/peers.ts";\n`,
            "house/app-floors",
        ],
        [
            "a feature names a type of another feature in place",
            "apps/agent/src/features/masquerade/masquerade.ts",
            `export type Used = import("../node-routes/peers.ts").Peers;\n`,
            "house/app-floors",
        ],
        [
            "a feature loads a command",
            "apps/agent/src/features/masquerade/masquerade.ts",
            `export const used = (): Promise<unknown> => import("../../commands/restore-uplink.ts");\n`,
            "house/app-floors",
        ],
        [
            "a feature uses what composes it",
            "apps/agent/src/features/masquerade/masquerade.ts",
            use("compose", "../../compose/compose.ts"),
            "house/app-floors",
        ],
        [
            "what composes features uses a file of one that is its own",
            "apps/agent/src/compose/features.ts",
            use("peers", "../features/node-routes/peers.ts"),
            "house/app-floors",
        ],
        [
            "the platform uses a feature",
            "apps/agent/src/platform/platform.ts",
            use("peers", "../features/node-routes/peers.ts"),
            "house/app-floors",
        ],
        [
            "the platform uses what composes it",
            "apps/agent/src/platform/ovs/lock-guard.ts",
            use("compose", "../../compose/compose.ts"),
            "house/app-floors",
        ],
    ])("are refused where %s", async (_name, path, text, rule) => {
        expect(await broken(path, text)).toContainEqual(expect.stringContaining(rule));
    });

    it("are allowed downwards", async () => {
        expect(await broken("libs/flows/src/pipeline.ts", use("ip", "@antrea/ip"))).toEqual([]);
        expect(await broken("apps/agent/src/main.ts", use("kube", "@antrea/kube"))).toEqual([]);
        const pools = use("pools", "@antrea/agent/features/ip-pools");
        expect(await broken("tools/simulate/cluster/agent.ts", pools)).toEqual([]);
        const feature = "apps/agent/src/features/bridging/bridged-pods/bridged-pods.ts";
        expect(await broken(feature, use("ids", "../../../platform/kernel-ids.ts"))).toEqual([]);
        expect(await broken(feature, use("own", "../uplink-keeper.ts"))).toEqual([]);
        const composed = use("feature", "../features/masquerade/feature.ts");
        expect(await broken("apps/agent/src/compose/features.ts", composed)).toEqual([]);
    });
});

describe("errors", () => {
    const inCatch = (condition: string): string =>
        `export function used(error: { readonly code: string }): boolean {\n    return ${condition};\n}\n`;

    it.each([
        ["a code is compared without its class", inCatch('error.code === "TIMEOUT"'), "isErrorOf"],
        ["a code is excluded without its class", inCatch('error.code !== "TIMEOUT"'), "isErrorOf"],
        ["a code is compared from the right", inCatch('"TIMEOUT" === error.code'), "isErrorOf"],
        ["one has no class of its own", 'export const used = new Error("no");\n', "class of your own"],
        ["a wrong argument has none", 'export const used = new RangeError("no");\n', "class of your own"],
        ["one is made without new", 'export const used = TypeError("no");\n', "class of your own"],
    ])("are refused where %s", async (_name, text, message) => {
        expect(await broken("libs/ip/src/address.ts", text)).toEqual([expect.stringContaining(message)]);
        expect(await broken("tools/simulate/pools.ts", text)).toEqual([expect.stringContaining(message)]);
    });

    const typed = (type: string, body: string): string =>
        [
            'import { AntreaError } from "@antrea/errors";',
            'export class OwnError extends AntreaError<"A" | "B"> {}',
            'export const codes: ReadonlySet<string | undefined> = new Set(["A"]);',
            `export function used(error: ${type}): boolean {\n    ${body}\n}\n`,
        ].join("\n");
    const inSwitch =
        'switch (error.code) {\n        case "A":\n            return true;\n        default:\n            return false;\n    }';

    it.each([
        ["a set has the code of any error", typed("AntreaError", "return codes.has(error.code);")],
        [
            "a list has the code of one of Node.js",
            typed("NodeJS.ErrnoException", "return [...codes].includes(error.code);"),
        ],
        ["a switch decides by the code of any error", typed("AntreaError", inSwitch)],
    ])("are refused where %s", async (_name, text) => {
        expect(await broken("libs/kube/src/index.ts", text)).toEqual([expect.stringContaining("isErrorOf")]);
    });

    it.each([
        ["a set has the code of a class", typed("OwnError", "return codes.has(error.code);")],
        ["it has that of an instance", typed("unknown", "return error instanceof OwnError && codes.has(error.code);")],
        ["a switch decides by the code of a class", typed("OwnError", inSwitch)],
        ["what has the code is no error", typed("{ readonly code: string }", inSwitch)],
    ])("are allowed where %s", async (_name, text) => {
        expect(await broken("libs/kube/src/index.ts", text)).toEqual([]);
    });
});
