export { planCommand } from "./command.ts";
