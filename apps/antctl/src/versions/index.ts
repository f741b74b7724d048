export { versionCommand } from "./command.ts";
