export { whoCommand } from "./command.ts";
