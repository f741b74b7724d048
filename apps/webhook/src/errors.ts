import { AntreaError } from "@antrea/errors";

/**
 * - `BAD_FLAG`: a flag has an invalid value, or the file of --config cannot be read;
 * - `NOT_READY`: a request arrived before the caches were synced.
 */
export class WebhookError extends AntreaError<"BAD_FLAG" | "NOT_READY"> {}
