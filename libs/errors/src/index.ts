export { AntreaError, assertNever, isAborted, messageOf, type AntreaErrorOptions, type Fault } from "./error.ts";
