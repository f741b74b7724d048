import { uplinkCondition } from "@antrea/crd";
import { AntreaError } from "@antrea/errors";
import { nodes } from "@antrea/kube";
import type { Job } from "@antrea/runtime";
import type { Transport } from "../../platform/host/transport/index.ts";
import { NodeCondition } from "../../platform/node/node-condition.ts";
import type { Platform } from "../../platform/platform.ts";
import type { BridgedPods } from "./bridged-pods/index.ts";
import { UplinkReport, type Uplink, type UplinkEvent, type UplinkState } from "./uplink/index.ts";

/** What the keeper works with; `bridging` is undefined while bridging mode is off. */
export interface KeeperPlatform extends Pick<
    Platform,
    "database" | "environment" | "events" | "jobs" | "kube" | "openflow"
> {
    readonly uplink: Pick<Uplink, "state" | "look" | "connect" | "restore">;
    readonly bridging: { readonly pods: Pick<BridgedPods, "announceAll"> } | undefined;
}

const lookMs = 1_000;
const maxPauseMs = 30_000;
const endMs = 2_000;

/**
 * Connects the Node's interface to the bridge and keeps it there. What happens is told on the Node, and the agent is not
 * ready while it is not so. A move that was undone is not repeated by this process: it would cut the Node off again.
 */
export class UplinkKeeper {
    readonly #base: KeeperPlatform;
    readonly #condition: NodeCondition;
    #reporting: Job | undefined;
    #refusal: AntreaError | undefined;
    #told = "";
    #problem: string | undefined = "the Node's interface is not connected to the bridge yet";

    constructor(base: KeeperPlatform) {
        this.#base = base;
        const { nodeName } = base.environment;
        this.#condition = new NodeCondition({ api: base.kube.api }, { nodeName });
    }

    /** Why the agent is not ready as far as its uplink goes. Pods of the Node's subnet do not wait for it. */
    get problem(): string | undefined {
        return this.#problem;
    }

    addJobs(transport: Transport): void {
        const { jobs, openflow } = this.#base;
        this.#reporting = jobs.every("bridging/uplink-report", 60_000, (signal) => this.#report(signal));
        const backoff = { initialMs: lookMs, maxMs: maxPauseMs };
        const keeping = jobs.every("bridging/uplink", lookMs, (signal) => this.#keep(transport, signal), { backoff });
        openflow.onReady(() => keeping.trigger());
    }

    /** Bridging mode is off: the Node gets back what an agent that was killed has left, and says no more of it. */
    async leave(): Promise<void> {
        const { jobs, uplink } = this.#base;
        await uplink.restore();
        jobs.once("bridging/uplink-report", (signal) => this.#condition.remove(uplinkCondition, signal));
    }

    /** Gives the Node its interface back, unless that is another agent's care. May be repeated. */
    async stop(): Promise<void> {
        const { database, kube, uplink } = this.#base;
        if (database.lockState === "waiting") return;
        const { kind } = uplink.state;
        await uplink.restore();
        if (kind !== "bridged" && kind !== "found") return;
        // See below: they ended with this move too.
        kube.close();
        const condition = UplinkReport.condition(uplink.state);
        if (condition !== undefined) await this.#condition.setAtEnd(condition, endMs);
    }

    async #keep(transport: Transport, signal: AbortSignal): Promise<void> {
        const { bridging, kube, uplink } = this.#base;
        const before = uplink.state;
        try {
            if (before.kind === "bridged") await uplink.look(signal);
            else if (before.kind !== "rolledBack") await uplink.connect(transport.state.name, signal);
            this.#refusal = undefined;
        } catch (error) {
            signal.throwIfAborted();
            this.#refusal = error instanceof AntreaError ? error : undefined;
            throw error;
        } finally {
            this.#tell(uplink.state);
        }
        if (uplink.state.kind !== "bridged" || before === uplink.state) return;
        // The name is the same, the link is another. For the kernel that ends all connections that it masquerades, those
        // to the API server's ClusterIP among them: better now than when they are found dead.
        kube.close();
        await transport.look();
        bridging?.pods.announceAll();
    }

    /** The agent's readiness at once, condition and event by the job, which is repeated while the API server is away. */
    #tell(state: UplinkState): void {
        const { environment, events } = this.#base;
        this.#problem = this.#refusal?.message ?? UplinkReport.problem(state);
        const text = `${state.kind} ${this.#problem}`;
        if (text === this.#told) return;
        this.#told = text;
        const event = this.#refusal === undefined ? UplinkReport.event(state) : refusalEvent(this.#refusal);
        if (event !== undefined) {
            const { nodeName: name } = environment;
            // By the name as kubelet does, so that "kubectl describe node" shows it.
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
