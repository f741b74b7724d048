export { networksErrorCode } from "./errors.ts";
export { type Networks } from "./networks.ts";
export { nodeCniFiles } from "./who-attaches.ts";
