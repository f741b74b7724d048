/** Internal parsers of input from API servers and proxies; exported for tools/fuzz only. */
export { splitLines } from "./api/lines.ts";
export { statusError } from "./api/status.ts";
export { parseRetryAfter } from "./api/retry-after.ts";
export { decodeWatchEvent } from "./informer/watch-events.ts";
