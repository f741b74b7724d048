import type { MetricsFactory } from "@antrea/runtime";
import type { ObserveCall } from "./calls.ts";

/**
 * Declares the metrics of CNI calls (`antrea_agent_cni_calls_total`, `antrea_agent_cni_call_duration_seconds`), once
 * per process; returns the function that records a call.
 */
export function observeCalls(metrics: MetricsFactory): ObserveCall {
    const calls = metrics.counter({
        name: "antrea_agent_cni_calls_total",
        help: "CNI calls by command and outcome (OK or the name of the error code).",
        labelNames: ["command", "outcome"],
    });
    const durations = metrics.histogram({
        name: "antrea_agent_cni_call_duration_seconds",
        help: "How long CNI calls took in the agent.",
        labelNames: ["command"],
    });
    return (command, outcome, seconds) => {
        calls.inc({ command, outcome });
        durations.observe(seconds, { command });
    };
}
