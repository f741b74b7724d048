export { planCommand } from "./command.ts";
export { plannedPool } from "./manifest.ts";
export { planPool } from "./report.ts";
