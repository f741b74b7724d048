import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";

const root = new URL("../../", import.meta.url).pathname;
const run = promisify(execFile);

/** The rules that this text would break as the content of that file. */
async function broken(path: string, text: string): Promise<readonly string[]> {
    // A process of its own: ESLint and Nx keep state that a test runner's module sandbox breaks.
    const script = `
        import { ESLint } from "eslint";
        const eslint = new ESLint({ cwd: ${JSON.stringify(root)} });
        const [result] = await eslint.lintText(process.argv[1], { filePath: process.argv[2] });
        console.log(JSON.stringify(result.messages.map((message) => message.ruleId + ": " + message.message)));`;
    const { stdout } = await run("node", ["--input-type=module", "-e", script, text, `${root}${path}`], {
        cwd: root,
        env: { ...process.env, NX_DAEMON: "false" },
        maxBuffer: 1 << 20,
    });
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "[]") as string[];
}

const use = (name: string, from: string): string =>
    `import * as ${name} from "${from}";\nexport const used = ${name};\n`;

describe("import directions", () => {
    it.each([
        [
            "a wire library uses I/O",
            "libs/errors/src/error.ts",
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
    ])(
        "are refused where %s",
        async (_name, path, text, rule) => {
            expect(await broken(path, text)).toContainEqual(expect.stringContaining(rule));
        },
        60_000,
    );

    it("are allowed downwards", async () => {
        expect(await broken("libs/flows/src/pipeline.ts", use("ip", "@antrea/ip"))).toEqual([]);
        expect(await broken("apps/agent/src/main.ts", use("kube", "@antrea/kube"))).toEqual([]);
    }, 60_000);
});
