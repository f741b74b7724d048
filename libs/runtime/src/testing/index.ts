export { MemoryLog, type LogRecord } from "./memory-logger.ts";
export { namesIn, readSources, type SourceFile } from "./sources.ts";
