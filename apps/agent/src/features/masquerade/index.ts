export { Masquerade, type MasqueradeComponents } from "./masquerade.ts";
export { ruleset, tableName, type MasqueradeInput } from "./ruleset.ts";
