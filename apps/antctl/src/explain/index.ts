export { explainCommand } from "./command.ts";
