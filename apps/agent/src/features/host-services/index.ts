/** Services for the Node itself and for clients outside, in the Node's network stack. */
export { tableName } from "./ruleset.ts";
