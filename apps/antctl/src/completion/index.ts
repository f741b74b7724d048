export { completionCommand } from "./command.ts";
export { complete, type DynamicWords, type TypedOptions } from "./complete.ts";
export { printCompletions } from "./print.ts";
