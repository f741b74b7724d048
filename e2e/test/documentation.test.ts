import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { parse } from "yaml";
import { parseNetworkConfig } from "@antrea/cni";
import { networksAnnotation, parseIpamSection, parseNetwork, parseSelections } from "@antrea/networks";
import { afterRollback } from "../upgrade/page.ts";

/** A manifest on the page, or a part of one. */
interface ExampleJson {
    readonly kind?: string;
    readonly metadata: { readonly name?: string; readonly annotations?: Readonly<Record<string, string>> };
    readonly spec?: { readonly config?: string };
}

const root = new URL("../../", import.meta.url);

describe.each([
    ["docs/ipam.md", "e2e/examples/ipam", "e2e/suites/62-ipam-examples.e2e.ts"],
    ["docs/secondary-networks.md", "e2e/examples/secondary-networks", "e2e/fixture/network-examples.ts"],
])("%s", (path, examples, suitePath) => {
    const page = readFileSync(new URL(path, root), "utf8");
    const suite = readFileSync(new URL(suitePath, root), "utf8");
    const files = readdirSync(new URL(examples, root));

    it.each(files)("shows %s as it is tried", (file) => {
        const text = readFileSync(new URL(`${examples}/${file}`, root), "utf8");
        expect(page).toContain(`[${file}](../${examples}/${file})`);
        expect(page).toContain(`\`\`\`yaml\n${text}\`\`\`\n`);
        expect(suite).toContain(`"${file.replace(".yaml", "")}"`);
    });

    it("shows no manifest that is not tried", () => {
        const shown = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text);
        const tried = files.map((file) => readFileSync(new URL(`${examples}/${file}`, root), "utf8"));
        for (const text of shown) expect(tried).toContain(text);
    });
});

describe("docs/secondary-networks.md", () => {
    const text = readFileSync(new URL("docs/secondary-networks.md", root), "utf8");
    const blocks = [...text.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, block = ""]) => parse(block) as ExampleJson);
    const networks = blocks.filter(({ kind }) => kind === "NetworkAttachmentDefinition");
    const requests = blocks.flatMap(({ metadata }) => metadata.annotations?.[networksAnnotation] ?? []);

    it("shows networks of each kind that the agent takes", () => {
        const kinds = networks.map(({ metadata: { name = "", annotations = {} }, spec: { config } = {} }) => {
            const { kind } = parseNetwork({ namespace: "default", name, annotations, config });
            return kind;
        });
        expect(kinds).toEqual(["vlan", "sriov", "foreign", "foreign", "foreign"]);
    });

    it("shows IPAM sections for other plugins that the agent takes", () => {
        const sections = networks
            .filter(({ metadata: { name } }) => name?.endsWith("net-1"))
            .map(({ spec }) => parseIpamSection(parseNetworkConfig(spec?.config ?? "").ipam?.raw ?? {}));
        expect(sections.map(({ addresses, ippools }) => [ippools, addresses.length])).toEqual([
            [["ipv4-pool-1"], 0],
            [["ipv4-pool-1", "ipv6-pool-1"], 0],
            [["ipv4-pool-1"], 2],
        ]);
    });

    it("shows annotations that the agent takes, in both forms", () => {
        const short = /short form of the same is `([^`]+@[^`]+)`/.exec(text)?.[1] ?? "";
        const shown = [...requests, short].map((request) =>
            parseSelections(request, "default").map((one) => `${one.namespace}/${one.name}@${one.interfaceName}`),
        );
        expect(shown).toEqual([
            ["default/vlan100@eth1", "networks/vlan200@eth200"],
            ["networks/vlan200@eth200"],
            ["default/sriov-net-a@eth1"],
            ["default/vlan100@eth1", "networks/vlan200@eth200"],
        ]);
    });
});

describe("docs/migration.md", () => {
    const text = readFileSync(new URL("docs/migration.md", root), "utf8");
    const tried = readFileSync(new URL("e2e/matrix/92-migration.e2e.ts", root), "utf8");
    const sections = text.split("\n## ").slice(1);

    it.each(sections.filter((section) => section.includes("```bash")).map((section) => section.split("\n")[0] ?? ""))(
        "has only commands that are tried: %s",
        (heading) => {
            const section = sections.find((one) => one.startsWith(heading)) ?? "";
            expect(section.match(/^```bash/gm)).toHaveLength(1);
            const runs = [...tried.matchAll(/page\.run\("(.*?)"\)/g)].map(([, begin]) => begin ?? "");
            expect(runs.some((begin) => heading.startsWith(begin))).toBe(true);
        },
    );
});

describe("docs/operations.md", () => {
    it("has the command that make upgrade runs after a rollback", () => {
        expect(afterRollback()).toMatch(
            /^kubectl get ipallocations\.crd\.antrea\.io .*kubectl delete ipallocations\.crd\.antrea\.io$/,
        );
    });
});

/** The anchors that GitHub makes of the headings of a page. */
function anchors(markdown: string): ReadonlySet<string> {
    const found = new Set<string>();
    for (const [, heading = ""] of withoutCode(markdown).matchAll(/^#+ (.+)$/gm)) {
        const anchor = heading
            .toLowerCase()
            .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
            .replaceAll(" ", "-");
        let name = anchor;
        for (let count = 1; found.has(name); count++) name = `${anchor}-${count}`;
        found.add(name);
    }
    return found;
}

function withoutCode(markdown: string): string {
    return markdown
        .replaceAll(/^ *```.*?^ *```/gms, "")
        .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()`]/g, ""));
}

/** What a page links to inside of the repository. */
function links(markdown: string): readonly string[] {
    return [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$/gm)]
        .map(([, inline, reference]) => inline ?? reference ?? "")
        .filter((target) => !/^[a-z]+:/.test(target));
}

describe("the pages", () => {
    const read = (path: string): string => readFileSync(new URL(path, root), "utf8");
    const inDocs = readdirSync(new URL("docs", root), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".md"))
        .map((file) => `docs/${file}`);

    it.each(inDocs.filter((path) => path !== "docs/README.md"))("of docs/ are in docs/README.md: %s", (path) => {
        const targets = links(read("docs/README.md")).map((target) => `docs/${target.split("#")[0]}`);
        expect(targets).toContain(path);
    });

    it.each(["README.md", ...inDocs])("link to files and headings that are there: %s", (path) => {
        const targets = links(read(path));
        const missing = targets.filter((target) => {
            const [file = "", anchor] = target.split("#");
            const url = file === "" ? new URL(path, root) : new URL(file, new URL(path, root));
            return !existsSync(url) || (anchor !== undefined && !anchors(readFileSync(url, "utf8")).has(anchor));
        });
        expect(missing).toEqual([]);
    });

    it("README.md leads to docs/README.md", () => {
        expect(links(read("README.md"))).toContain("docs/README.md");
    });
});

it("README.md says of each feature gate whether its feature is here", () => {
    const rows = (path: string, heading: string): readonly (readonly string[])[] => {
        const [, after = ""] = readFileSync(new URL(path, root), "utf8").split(`\n${heading}\n`);
        const [section = ""] = after.split("\n## ");
        return section
            .split("\n")
            .filter((line) => line.startsWith("|"))
            .slice(2)
            .map((line) =>
                line
                    .split("|")
                    .slice(1, -1)
                    .map((cell) => cell.trim()),
            );
    };
    const listed = rows("README.md", "## Features: here, and not yet").flatMap(([, gates = "", status = ""]) =>
        [...gates.matchAll(/`(\w+)`/g)].map(
            ([, gate = ""]) => [gate, status.startsWith("here") ? "yes" : "no"] as const,
        ),
    );
    const gates = rows("docs/feature-gates.md", "this table is refused.").map(
        ([gate = "", , , , available = ""]) => [gate, available] as const,
    );
    expect(gates.length).toBeGreaterThan(30);
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(gates));
    expect(listed).toHaveLength(gates.length);
});
