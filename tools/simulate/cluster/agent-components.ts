import { type Clock } from "@antrea/async";
import { type EventInput } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { type Transport } from "../api/transport.ts";
import { type Machine } from "../machine/machine.ts";
import { type Random } from "../time/random.ts";
import { type VirtualTime } from "../time/virtual-time.ts";

/** What one start of antrea-agent is made of. */
export interface AgentComponents {
    readonly machine: Machine;
    readonly transport: Transport;
    readonly time: VirtualTime;
    readonly clock: Clock;
    readonly random: Random;
    readonly logger: Logger;
    readonly record: (event: EventInput) => void;
    /** Bridging mode. */
    readonly isBridged: boolean;
    /** The feature gate SecondaryNetwork, with a bridge for its networks. */
    readonly hasNetworks: boolean;
    /** The process ends by itself, to be started again. */
    readonly exit: () => void;
}
