import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { afterRollback } from "../upgrade/page.ts";

const root = new URL("../../", import.meta.url);
const examples = "e2e/examples/ipam";
const page = readFileSync(new URL("docs/ipam.md", root), "utf8");
const suite = readFileSync(new URL("e2e/suites/62-ipam-examples.e2e.ts", root), "utf8");
const files = readdirSync(new URL(examples, root));

describe("docs/ipam.md", () => {
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

describe("docs/migration.md", () => {
    const text = readFileSync(new URL("docs/migration.md", root), "utf8");
    const tried = readFileSync(new URL("e2e/suites/92-migration.e2e.ts", root), "utf8");
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

describe("docs/README.md", () => {
    const index = readFileSync(new URL("docs/README.md", root), "utf8");
    const links = [...index.matchAll(/\]\((?<path>[^)#]+)(?:#(?<heading>[^)]+))?\)/g)].map(
        ({ groups }) => groups ?? {},
    );

    it("leads to every page", () => {
        const pages = readdirSync(new URL("docs/", root)).filter(
            (file) => file.endsWith(".md") && file !== "README.md",
        );
        expect(links.map(({ path }) => path)).toEqual(expect.arrayContaining([...pages, "benchmarks/README.md"]));
    });

    it.each(links.map(({ path, heading }) => [path, heading] as const))("leads to %s, %s", (path = "", heading) => {
        const text = readFileSync(new URL(path, new URL("docs/", root)), "utf8");
        const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
            title
                .toLowerCase()
                .replaceAll(/[^a-z0-9 _-]/g, "")
                .replaceAll(" ", "-"),
        );
        if (heading !== undefined) expect(anchors).toContain(heading);
    });
});
