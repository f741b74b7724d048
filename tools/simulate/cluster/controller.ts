import { type Clock } from "@antrea/async";
import { parsePrefix, type Prefix } from "@antrea/ip";
import { type EventInput } from "@antrea/kube";
import { type Lifecycle, type Logger } from "@antrea/runtime";
import { loadControllerConfig } from "@antrea/settings";
import { composeController } from "@antrea/controller/compose";
import { electionOf, type Platform } from "@antrea/controller/platform";
import { nodesOf } from "@antrea/controller/platform/nodes";
import { type Transport } from "../api/transport.ts";
import { noMetrics, quietEvents, quietHealth } from "./quiet.ts";

export interface ControllerComponents {
    readonly transport: Transport;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly record: (event: EventInput) => void;
}

export interface ControllerOptions {
    readonly identity: string;
    /** Cooling time of the subnets of deleted Nodes in milliseconds; default 1 min. */
    readonly subnetCoolingMs?: number;
}

/** The prefix of all Node subnets. */
export const clusterCidr = "10.50.0.0/22";

/** Few subnets, so that Nodes have to wait for one. */
const { config, gates } = loadControllerConfig(`
featureGates: {AntreaIPAM: true}
nodeIPAM:
  enableNodeIPAM: true
  clusterCIDRs: [${clusterCidr}]
  serviceCIDR: 10.96.0.0/16
  nodeCIDRMaskSizeIPv4: 24
ipam: {cleanInterval: 60s}
`);

/** The subnets that Nodes can have. */
export const nodePrefixes: readonly Prefix[] = [0, 1, 2, 3].map((at) => parsePrefix(`10.50.${at}.0/24`));

/**
 * One start of antrea-controller with the gate AntreaIPAM and NodeIPAM: what its compose.ts starts, on a simulated
 * platform.
 */
export class Controller {
    readonly #transport: Transport;
    readonly #lifecycle: Lifecycle;
    readonly #election: Platform["election"];

    constructor(
        { transport, clock, logger, record }: ControllerComponents,
        { identity: leader, subnetCoolingMs = 60_000 }: ControllerOptions,
    ) {
        this.#transport = transport;
        const { api } = transport;
        const identity = { instance: leader, leader, namespace: "kube-system" };
        this.#election = electionOf({ api, clock, logger }, config, identity);
        this.#lifecycle = composeController({
            logger,
            clock,
            config,
            gates,
            identity,
            metrics: noMetrics,
            jobs: { show: () => undefined },
            health: quietHealth(),
            kube: { api, close: () => undefined },
            events: quietEvents(record),
            election: this.#election,
            nodes: nodesOf({ api, clock, logger }),
            subnetCoolingMs,
        });
        this.#lifecycle.start().catch((error: unknown) => {
            if (!transport.isDead) logger.error("the controller could not start", { error });
        });
    }

    get leads(): boolean {
        return this.#election.leading && !this.#transport.isDead;
    }

    /** kill -9. */
    kill(): void {
        this.#transport.kill();
        // Its effects are complete; stopping its loops only saves work.
        this.#lifecycle.stop().catch(() => undefined);
    }
}
