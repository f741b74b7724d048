export { Backoff, type BackoffOptions } from "./backoff.ts";
export { Bell, type BellWait } from "./bell.ts";
export { systemClock, type Clock } from "./clock.ts";
export { RuntimeError, TerminalError, type RuntimeErrorCode } from "./errors.ts";
export { parseFlags, type Flags, type OwnFlags } from "./flags.ts";
export { type Check, type CheckKind, type CheckResult } from "./health/checks.ts";
export {
    createAuthority,
    createSelfSigned,
    createSigned,
    type Certificate,
    type CertificateOptions,
    type ServingOptions,
} from "./health/certificate.ts";
export { probePortFrom } from "./health/probe-listener.ts";
export { HealthServer, type HealthComponents, type HealthOptions } from "./health/server.ts";
export {
    Jobs,
    type Job,
    type JobHealth,
    type JobOptions,
    type JobsComponents,
    type JobState,
    type JobWork,
    type RepeatedJobOptions,
} from "./jobs.ts";
export { KeyedLock } from "./keyed-lock.ts";
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
    tellBuild,
} from "./metrics.ts";
export { runMain, type MainContext, type MainOptions, type MainProcess } from "./run-main.ts";
export { sleep, withTimeout, type TimeoutOptions } from "./sleep.ts";
