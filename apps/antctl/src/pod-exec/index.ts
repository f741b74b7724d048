export { type ExecResult } from "./channels.ts";
export { PodExec, type ExecRequest, type PodExecComponents, type PodExecOptions } from "./pod-exec.ts";
