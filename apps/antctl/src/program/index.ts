export { type CommandContext, type Completer, type Completion } from "./context.ts";
export { exitFailed, exitIncomplete, exitOk, exitUsage, failureOf, type Failure } from "./failure.ts";
export { findKubeconfig, readDuration, readTimeout, type GlobalOptions } from "./options.ts";
export { createProgram, exitCodeOf, globalOptionsOf, settle, type ProgramOptions } from "./program.ts";
export { openSession, type Session } from "./session.ts";
