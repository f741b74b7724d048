export { RuntimeError, TerminalError, type RuntimeErrorCode } from "./errors.ts";
export { parseFlags, type Flags, type OwnFlags } from "./flags.ts";
export { Jobs, type JobsComponents } from "./jobs.ts";
export {
    type FailedObjects,
    type Job,
    type JobHealth,
    type JobOptions,
    type JobResult,
    type JobState,
    type JobWork,
    type RepeatedJobOptions,
} from "./job.ts";
export {
    Lifecycle,
    type LifecycleComponents,
    type LifecycleOptions,
    type LifecyclePart,
    type LifecycleState,
} from "./lifecycle.ts";
export {
    createLogger,
    levelFromVerbosity,
    type LogDestination,
    type LogFields,
    type Logger,
    type LoggerOptions,
    type LogLevel,
} from "./logger.ts";
export { toLogValue } from "./log-fields.ts";
export {
    Metrics,
    type Counter,
    type Gauge,
    type Histogram,
    type Labels,
    type MetricOptions,
    type MetricsFactory,
    type Sample,
    exportBuildInfo,
} from "./metrics.ts";
export {
    Reconciler,
    type Change,
    type ObjectState,
    type ObjectStatus,
    type Operations,
    type PassResult,
    type ReconcilerComponents,
    type ReconcilerOptions,
    type Removal,
} from "./reconciler/index.ts";
export { runMain, type MainContext, type MainOptions, type MainProcess } from "./run-main.ts";
