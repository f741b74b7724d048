export { aborted, orAborted } from "./aborted.ts";
export { Backoff, type BackoffOptions } from "./backoff.ts";
export { systemClock, type Clock } from "./clock.ts";
export { abortedError, AsyncError, type AsyncErrorCode } from "./errors.ts";
export { KeyedLock } from "./keyed-lock.ts";
export { Mutex } from "./mutex.ts";
export { Notify, type NotifyWait } from "./notify.ts";
export { settleAll } from "./settle-all.ts";
export { sleep, withTimeout, type TimeoutOptions } from "./sleep.ts";
