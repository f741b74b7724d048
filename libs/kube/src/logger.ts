import { type Logger } from "@antrea/runtime";

/** The part of Logger of @antrea/runtime that this library uses. */
export type KubeLogger = Pick<Logger, "debug" | "info" | "warn" | "error">;
