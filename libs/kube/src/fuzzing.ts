/** What of this library reads what API servers and proxies send, behind its exports: for tools/fuzz only. */
export { splitLines } from "./api/lines.ts";
export { parseRetryAfter, statusError } from "./api/status.ts";
export { decodeWatchEvent } from "./informer/watch-events.ts";
