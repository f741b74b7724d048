import { AntreaError } from "@antrea/errors";

/** A flag has a value that cannot be used, or a request comes before the cluster is known. */
export class WebhookError extends AntreaError<"BAD_FLAG" | "NOT_READY"> {}
