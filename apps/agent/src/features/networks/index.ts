export { networksErrorCode } from "./errors.ts";
export { type Networks } from "./networks.ts";
