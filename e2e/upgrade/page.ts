import { readFileSync } from "node:fs";

/**
 * What docs/operations.md tells to do after a rollback to a release that does not free the claims of gateways: the command
 * of the first block of code after that sentence. Throws when the page has none.
 */
export function afterRollback(): string {
    const page = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
    const [, command] = /remove the claims of gateways: .*?\n```\n(.*?)\n```\n/s.exec(page) ?? [];
    if (command === undefined) throw new Error("docs/operations.md does not say how claims of gateways are removed");
    return command;
}
