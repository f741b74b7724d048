export { showCommand } from "./command.ts";
