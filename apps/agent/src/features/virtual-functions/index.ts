export { functionErrorCode } from "./errors.ts";
