export { CniMessageError } from "./error.ts";
export { MessageReader } from "./reader.ts";
export { MessageWriter } from "./writer.ts";
