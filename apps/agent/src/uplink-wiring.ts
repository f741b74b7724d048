import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import { uplinkCondition } from "@antrea/crd";
import { AntreaError } from "@antrea/errors";
import { OfPort } from "@antrea/flows";
import { formatIp, parseIp } from "@antrea/ip";
import { nodes, socketAddress, type KubeClients } from "@antrea/kube";
import type { Netlink } from "@antrea/netlink";
import type { Job } from "@antrea/runtime";
import type { Base } from "./compose.ts";
import { NodeCondition } from "./node-condition.ts";
import { podLinkGroup } from "./pod-network/index.ts";
import type { Transport } from "./transport/index.ts";
import { Uplink, UplinkReport, type UplinkEvent, type UplinkState } from "./uplink/index.ts";

const lookMs = 1_000;
const maxPauseMs = 30_000;
const endMs = 2_000;

export function buildUplink(
    base: Pick<
        Base,
        "bridge" | "config" | "database" | "datapath" | "environment" | "kube" | "logger" | "netlink" | "openflow"
    >,
): Uplink {
    const { bridge, config, database, datapath, environment, kube, logger, netlink, openflow } = base;
    return new Uplink(
        {
            netlink,
            ports: bridge,
            logger: logger.child("uplink"),
            apiReachable: (signal) => apiAnswers(kube, signal),
            apiIsLocal: async () => isOwnHost(socketAddress((await kube.connection()).server).host, netlink),
            ovsProblem: () => {
                if (database.problem !== undefined) return database.problem;
                if (database.lockState !== "locked") return "the lock of this Node's OVS database is not held";
                return openflow.state.kind === "ready" ? undefined : "ovs-vswitchd is not connected";
            },
        },
        {
            folder: environment.stateFolder,
            bootId: environment.bootId,
            checkTimeoutMs: config.uplink.checkTimeout,
            uplinkOfPort: OfPort.uplink,
            hostOfPort: OfPort.host,
            linkGroup: podLinkGroup,
            copiesFrames: datapath.copiesFrames,
            mustComputeChecksums: datapath.mustComputeChecksums,
        },
    );
}

/**
 * Connects the Node's interface to the bridge and keeps it there. What happens is told on the Node, and the agent is not
 * ready while it is not so. A move that was undone is not repeated by this process: it would cut the Node off again.
 */
export class UplinkKeeper {
    readonly #base: Base;
    readonly #condition: NodeCondition;
    #reporting: Job | undefined;
    #refusal: AntreaError | undefined;
    #told = "";
    #problem: string | undefined = "the Node's interface is not connected to the bridge yet";

    constructor(base: Base) {
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
        this.#reporting = jobs.every("uplink-report", 60_000, (signal) => this.#report(signal));
        const backoff = { initialMs: lookMs, maxMs: maxPauseMs };
        const keeping = jobs.every("uplink", lookMs, (signal) => this.#keep(transport, signal), { backoff });
        openflow.onReady(() => keeping.trigger());
    }

    /** Bridging mode is off: the Node gets back what an agent that was killed has left, and says no more of it. */
    async leave(): Promise<void> {
        const { jobs, uplink } = this.#base;
        await uplink.restore();
        jobs.once("uplink-report", (signal) => this.#condition.remove(uplinkCondition, signal));
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

/**
 * True for a host that is this Node itself: its loopback, or one of its addresses. A ClusterIP is none, wherever
 * kube-proxy leads it.
 */
export async function isOwnHost(host: string, netlink: Pick<Netlink, "addresses">): Promise<boolean> {
    const [found, own] = await Promise.all([lookup(host, { all: true }), netlink.addresses()]);
    const ownTexts = new Set(own.map(({ ip }) => formatIp(ip)));
    return found.some(({ address }) => {
        const text = formatIp(parseIp(address.replace(/%.*$/, "")));
        return text === "::1" || text.startsWith("127.") || ownTexts.has(text);
    });
}

/** True when the API server takes a new connection: one that is open already may look alive long after a cut. */
async function apiAnswers({ connection }: Pick<KubeClients, "connection">, signal: AbortSignal): Promise<boolean> {
    const { server } = await connection();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const socket = connect(socketAddress(server));
    const give = (): void => resolve(false);
    signal.addEventListener("abort", give, { once: true });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    try {
        return await promise;
    } finally {
        signal.removeEventListener("abort", give);
        socket.destroy();
    }
}
