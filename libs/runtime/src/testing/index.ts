export { ManualClock, settle } from "./manual-clock.ts";
export { MemoryLog, type LogRecord } from "./memory-logger.ts";
