import { type Counters } from "../check/counters.ts";
import { type Random } from "../time/random.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { type RequestFaults, type WatchFaults } from "./faults.ts";
import { type FlowControl } from "./flow-control.ts";
import { type ApiServer } from "./server.ts";

/** What the connection of a process to the API server and its watches are made of. */
export interface TransportComponents {
    readonly time: VirtualTime;
    readonly random: Random;
    readonly server: ApiServer;
    readonly flows: FlowControl;
    readonly counters: Counters;
    /** What happens to requests and watches just now. */
    readonly faults: () => { readonly requests: RequestFaults; readonly watches: WatchFaults };
    /** Counts a step of the simulation and adds it to the history. */
    readonly step: (what: () => string) => void;
}
