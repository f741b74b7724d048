export {
    AntreaError,
    assertNever,
    isAborted,
    isErrorOf,
    isSystemError,
    messageOf,
    type AntreaErrorOptions,
    type Fault,
    type SystemError,
} from "./error.ts";
