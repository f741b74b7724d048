import { uplinkCondition } from "@antrea/crd";
import { AntreaError } from "@antrea/errors";
import { nodes } from "@antrea/kube";
import type { Job } from "@antrea/runtime";
import type { Transport } from "../../platform/host/transport/index.ts";
import { NodeCondition } from "../../platform/node/node-condition.ts";
import type { Platform } from "../../platform/platform.ts";
import type { Uplink, UplinkState } from "../../platform/host/uplink/index.ts";
import { UplinkReport, type UplinkEvent } from "./uplink-report.ts";

/** Dependencies of UplinkKeeper. */
export interface KeeperPlatform extends Pick<
    Platform,
    "database" | "environment" | "events" | "jobs" | "kube" | "openflow"
> {
    readonly uplink: Pick<Uplink, "state" | "check" | "connect" | "restore">;
}

const checkIntervalMs = 1_000;
const maxPauseMs = 30_000;
const endMs = 2_000;

/**
 * Connects the Node's interface to the bridge and keeps it connected. Reports the state as condition and events of the
 * Node; the agent is not ready until the interface is connected. A move that was rolled back is not repeated by this
 * process, since it would disconnect the Node again. The owner calls `addJobs` once, or outside bridging mode `leave`,
 * and `stop` at the end.
 */
export class UplinkKeeper {
    readonly #base: KeeperPlatform;
    readonly #condition: NodeCondition;
    #reporting: Job | undefined;
    #refusal: AntreaError | undefined;
    #lastLogged = "";
    #problem: string | undefined = "the Node's interface is not connected to the bridge yet";

    constructor(base: KeeperPlatform) {
        this.#base = base;
        const { nodeName } = base.environment;
        this.#condition = new NodeCondition({ api: base.kube.api }, { nodeName });
    }

    /**
     * Why the uplink makes the agent not ready; undefined if it does not. Pods with podCIDR addresses do not wait for
     * it.
     */
    get problem(): string | undefined {
        return this.#problem;
    }

    /**
     * Adds the jobs that connect the interface (checked every second) and report its state; to be called once. A
     * failure to connect is retried with a backoff of up to 30 s.
     *
     * @param onConnected called each time the interface was connected or reconnected
     */
    addJobs(transport: Transport, onConnected: () => void): void {
        const { jobs, openflow } = this.#base;
        this.#reporting = jobs.every("bridging/uplink-report", 60_000, (signal) => this.#report(signal));
        const backoff = { initialMs: checkIntervalMs, maxMs: maxPauseMs };
        const keep = (signal: AbortSignal): Promise<void> => this.#keep(transport, onConnected, signal);
        const keeping = jobs.every("bridging/uplink", checkIntervalMs, keep, { backoff });
        openflow.onReady(() => keeping.trigger());
    }

    /**
     * Outside bridging mode: restores the NIC that a killed agent may have left moved, and removes the Node condition
     * by a job. Rejects as Uplink's `restore`.
     */
    async leave(): Promise<void> {
        const { jobs, uplink } = this.#base;
        await uplink.restore();
        jobs.once("bridging/uplink-report", (signal) => this.#condition.remove(uplinkCondition, signal));
    }

    /**
     * Restores the Node's interface, unless another agent holds the database lock. If it was moved, then closes the
     * connections to the API server and sets the Node condition, within 2 s. Idempotent. Rejects as Uplink's `restore`;
     * a condition that cannot be set is not an error.
     */
    async stop(): Promise<void> {
        const { database, kube, uplink } = this.#base;
        if (database.lockState === "waiting") return;
        const { kind } = uplink.state;
        await uplink.restore();
        if (kind !== "bridged" && kind !== "found") return;
        // See below: the move back also breaks these connections.
        kube.close();
        const condition = UplinkReport.condition(uplink.state);
        if (condition !== undefined) await this.#condition.setAtEnd(condition, endMs);
    }

    async #keep(transport: Transport, onConnected: () => void, signal: AbortSignal): Promise<void> {
        const { kube, uplink } = this.#base;
        const before = uplink.state;
        try {
            if (before.kind === "bridged") await uplink.check(signal);
            else if (before.kind !== "rolledBack") await uplink.connect(transport.state.name, signal);
            this.#refusal = undefined;
        } catch (error) {
            signal.throwIfAborted();
            this.#refusal = error instanceof AntreaError ? error : undefined;
            throw error;
        } finally {
            this.#log(uplink.state);
        }
        if (uplink.state.kind !== "bridged" || before === uplink.state) return;
        // The link changed although its name did not, so the kernel drops all connections that it masquerades,
        // including those to the API server's ClusterIP: close them now rather than wait for a timeout.
        kube.close();
        await transport.check();
        onConnected();
    }

    /**
     * Updates the readiness at once; the job sets the condition and is repeated while the API server is unavailable.
     */
    #log(state: UplinkState): void {
        const { environment, events } = this.#base;
        this.#problem = this.#refusal?.message ?? UplinkReport.problem(state);
        const text = `${state.kind} ${this.#problem}`;
        if (text === this.#lastLogged) return;
        this.#lastLogged = text;
        const event = this.#refusal === undefined ? UplinkReport.event(state) : refusalEvent(this.#refusal);
        if (event !== undefined) {
            const { nodeName: name } = environment;
            // The UID is the name, as kubelet sets it, so that "kubectl describe node" shows the event.
            const regarding = { apiVersion: "v1", kind: nodes.kind, name, uid: name };
            const { type, reason, message: note } = event;
            events.record({ regarding, type, reason, action: "ConnectUplink", note });
        }
        this.#reporting?.trigger();
    }

    async #report(signal: AbortSignal): Promise<void> {
        const { uplink } = this.#base;
        const condition =
            this.#refusal === undefined ? UplinkReport.condition(uplink.state) : UplinkReport.refusal(this.#refusal);
        if (condition !== undefined) await this.#condition.set(condition, signal);
    }
}

function refusalEvent(error: AntreaError): UplinkEvent {
    const { reason, message } = UplinkReport.refusal(error);
    return { type: "Warning", reason, message };
}
