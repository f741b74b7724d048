export { checkCommand } from "./command.ts";
