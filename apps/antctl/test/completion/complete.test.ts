import { describe, expect, it } from "@jest/globals";
import { Command, Option } from "commander";
import { complete, printCompletions, type DynamicWords, type TypedOptions } from "../../src/completion/index.ts";

function program(): Command {
    const show = new Command("show").summary("shows").argument("[POOL]");
    const plan = new Command("plan").addOption(new Option("-f, --filename <FILE>"));
    const pod = new Command("pod").argument("POD").addOption(new Option("-n, --namespace <NAME>"));
    const explain = new Command("explain").addCommand(pod);
    const ipam = new Command("ipam").summary("addresses").addCommand(show).addCommand(plan).addCommand(explain);
    const shell = new Command("completion").argument("<SHELL>");
    shell.registeredArguments[0]?.choices(["bash", "zsh"]);
    return new Command("antctl")
        .addOption(new Option("--kubeconfig <FILE>"))
        .addOption(new Option("--context <NAME>", "which context"))
        .addOption(new Option("-o, --output <FORMAT>").choices(["table", "json"]))
        .addCommand(ipam)
        .addCommand(shell);
}

const asked: string[] = [];
const dynamic: DynamicWords = {
    argument: async ({ command, typed, before, options }) => {
        asked.push(`${command.name()} ${JSON.stringify(typed)} after ${before.length} with ${text(options)}`);
        return [{ value: "web", description: "3 free" }, { value: "web6" }, { value: "tiny" }];
    },
    option: async (name, options) => {
        asked.push(`--${name} with ${text(options)}`);
        return [{ value: "shop" }, { value: "kube-system" }];
    },
};
const text = (options: TypedOptions): string => JSON.stringify(Object.fromEntries(options));

describe("complete", () => {
    it.each<[string, readonly string[]]>([
        ["", ["ipam", "completion"]],
        ["i", ["ipam"]],
        ["ipam ", ["show", "plan", "explain"]],
        ["ipam show ", ["web", "web6", "tiny"]],
        ["ipam show we", ["web", "web6"]],
        ["ipam show --", ["--kubeconfig", "--context", "--output", "--help"]],
        ["ipam explain pod --n", ["--namespace"]],
        ["-o ", ["table", "json"]],
        ["-o json ipam s", ["show"]],
        ["--output=j", ["--output=json"]],
        ["--unknown=j", []],
        ["ipam explain pod -n s", ["shop"]],
        ["ipam explain pod --namespace=k", ["--namespace=kube-system"]],
        ["completion ", ["bash", "zsh"]],
        ["ipam nothing ", ["show", "plan", "explain"]],
    ])("%j", async (line, values) => {
        const { items, files } = await complete(program(), line.split(" "), dynamic);
        expect(items.map(({ value }) => value)).toEqual(values);
        expect(files).toBe(false);
    });

    it.each(["--kubeconfig ", "--kubeconfig=/etc", "ipam plan -f ", "ipam plan --filename x"])(
        "offers files after %j",
        async (line) => {
            expect(await complete(program(), line.split(" "), dynamic)).toEqual({ items: [], files: true });
        },
    );

    it("reports what is typed already, options of all levels among it", async () => {
        asked.length = 0;
        await complete(program(), "--context=a ipam show --kubeconfig /k web t".split(" "), dynamic);
        await complete(program(), "--kubeconfig /k --context ".split(" "), dynamic);
        await complete(program(), "ipam show -- -t".split(" "), dynamic);
        expect(asked).toEqual(['--context with {"kubeconfig":"/k"}', 'show "-t" after 0 with {}']);
        await complete(program(), "--context=a ipam explain pod --kubeconfig /k t".split(" "), dynamic);
        expect(asked.at(-1)).toBe('pod "t" after 0 with {"context":"a","kubeconfig":"/k"}');
    });

    it("offers nothing where no argument comes", async () => {
        expect(await complete(program(), "ipam plan ".split(" "), dynamic)).toEqual({ items: [], files: false });
    });
});

describe("printCompletions", () => {
    it.each([
        [{ items: [{ value: "a", description: "b\nc" }, { value: "d" }], files: false }, "a\tb c\nd\n:4\n"],
        [{ items: [{ value: "ns/", open: true }], files: false }, "ns/\n:6\n"],
        [{ items: [], files: true }, ":0\n"],
        [{ items: [], files: false }, ":4\n"],
    ])("%j", (completions, printed) => {
        expect(printCompletions(completions)).toBe(printed);
    });
});
