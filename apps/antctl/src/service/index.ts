export { serviceCommand } from "./command.ts";
