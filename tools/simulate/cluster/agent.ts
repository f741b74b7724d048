import { type CniCmdArgs } from "@antrea/cni";
import { AntreaError } from "@antrea/errors";
import { composeAgent } from "@antrea/agent/compose";
import { type CniCalls, type CniCommand } from "@antrea/agent/features/cni-server";
import { buildIpPools } from "@antrea/agent/features/ip-pools/pool-parts";
import { type IpPools } from "@antrea/agent/features/ip-pools";
import { type Transport } from "../api/transport.ts";
import { LocalIo } from "../machine/io.ts";
import { partsOf } from "../machine/node-parts.ts";
import { mortal } from "../time/virtual-time.ts";
import { type AgentComponents } from "./agent-components.ts";
import { platformOn } from "./agent-platform.ts";

const callLimitMs = 60_000;

/** One start of antrea-agent: what its compose.ts starts, on a simulated Node. */
export class Agent {
    readonly pools: IpPools;
    /** It makes interfaces on networks other than the Pod network. */
    readonly attachesNetworks: boolean;
    readonly #transport: Transport;
    readonly #io: LocalIo;
    readonly #platform: ReturnType<typeof platformOn>;
    #isKilled = false;
    /** Rejects when the process is killed, which breaks the connections of its clients. */
    readonly #died = Promise.withResolvers<never>();
    /** Set once the CNI socket exists. */
    #calls: Pick<CniCalls, "call"> | undefined;

    constructor(components: AgentComponents) {
        const { machine, transport, time, random, logger, exit } = components;
        this.attachesNetworks = components.hasNetworks;
        this.#transport = transport;
        this.#io = new LocalIo(time, random);
        const io = this.#io;
        const clock = mortal(components.clock, () => this.#isKilled);
        const fail = (error: unknown): void => {
            if (this.#isKilled) return;
            logger.warn("the agent ends", { error });
            exit();
        };
        this.#platform = platformOn(components, { io, clock, fail });
        let pools: IpPools | undefined;
        const lifecycle = composeAgent(this.#platform, {
            ...partsOf(machine, io, (calls) => (this.#calls = calls)),
            ipPools: (platform) => (pools = buildIpPools(platform)),
        });
        if (pools === undefined) throw new AgentAway();
        this.pools = pools;
        this.#died.promise.catch(() => undefined);
        lifecycle.start().catch(fail);
    }

    /** Its answer to CNI STATUS. */
    get isReady(): boolean {
        return !this.#isKilled && this.#platform.readiness.missing() === undefined;
    }

    /** Why /readyz fails because of its token. */
    get tokenProblem(): string | undefined {
        return this.#platform.health.problem("token");
    }

    get isKilled(): boolean {
        return this.#isKilled;
    }

    /** kill -9: it receives no more responses, and none of its timers fires. */
    kill(): void {
        if (this.#isKilled) return;
        this.#isKilled = true;
        this.#transport.kill();
        this.#io.kill();
        this.#died.reject(new AgentAway());
    }

    /** One CNI call by the shim; never settles if the agent is killed meanwhile. */
    async call(command: CniCommand, args: CniCmdArgs, cancelled: AbortSignal): Promise<Uint8Array> {
        if (this.#isKilled || this.#calls === undefined) throw new AgentAway();
        const limit = AbortSignal.any([cancelled, AbortSignal.timeout(callLimitMs)]);
        return Promise.race([this.#calls.call(command, args, limit), this.#died.promise]);
    }
}

/** The CNI socket has no listener. */
export class AgentAway extends AntreaError<"AGENT_AWAY"> {
    constructor() {
        super("AGENT_AWAY", "environment", "no process listens on the CNI socket");
    }
}
