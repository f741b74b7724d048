export { MemoryLog, type LogRecord } from "./memory-logger.ts";
