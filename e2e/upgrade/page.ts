import { readFileSync } from "node:fs";
import { FixtureError } from "../fixture/error.ts";

/**
 * The command of docs/operations.md for a rollback to a release that does not release the allocations of gateways: the
 * first code block after that sentence. Throws FixtureError if the page has none.
 */
export function afterRollback(): string {
    const page = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
    const [, command] = /delete the IPAllocations of gateways: .*?\n```\n(.*?)\n```\n/s.exec(page) ?? [];
    if (command === undefined)
        throw new FixtureError(
            "NOT_SET_UP",
            "internal",
            "docs/operations.md has no command that deletes the IPAllocations of gateways",
        );
    return command;
}
