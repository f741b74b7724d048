export {
    AntreaError,
    assertNever,
    isAborted,
    isErrorOf,
    isSystemError,
    messageOf,
    type AntreaErrorOptions,
    type NoDetails,
    type Fault,
    type SystemError,
} from "./error.ts";
export { onlyKeys, present } from "./fields.ts";
