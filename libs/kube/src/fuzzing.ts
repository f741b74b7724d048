/** Internal parsers of input from API servers and proxies; exported for tools/fuzz only. */
export { splitLines } from "./api/lines.ts";
export { parseRetryAfter, statusError } from "./api/status.ts";
export { decodeWatchEvent } from "./informer/watch-events.ts";
