export { convertCommand } from "./command.ts";
