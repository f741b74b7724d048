import { type Clock } from "@antrea/async";
import { type ApiClient, type EventInput } from "@antrea/kube";
import { type Logger, type MetricsFactory } from "@antrea/runtime";
import { type DatedNodeSource } from "./node-addresses.ts";

/** Dependencies of IpPools. */
export interface IpPoolsComponents {
    readonly api: Pick<ApiClient, "create" | "delete" | "find" | "list" | "pages" | "update" | "watch">;
    readonly logger: Logger;
    readonly metrics: MetricsFactory;
    /** Records an event; never blocks, never throws. */
    readonly record: (event: EventInput) => void;
    readonly nodes: DatedNodeSource;
    /** Default the system clock. */
    readonly clock?: Clock;
    /** Random numbers in [0, 1). Default `Math.random`. */
    readonly random?: () => number;
}

/** Settings of IpPools; times in milliseconds. */
export interface IpPoolsOptions {
    readonly nodeName: string;
    /** Cooldown of a freed address while other addresses are free. Default 30 s. */
    readonly cooldownMs?: number | undefined;
    /** How long the ADD of a StatefulSet's Pod waits for its reservation. Default 20 s. */
    readonly reservationWaitMs?: number | undefined;
    /** Bridging mode: Pods of pools are attached to the physical network. Default false. */
    readonly bridged?: boolean | undefined;
    /** Time between the two checks that must both find an allocation unused. Default 10 s. */
    readonly confirmMs?: number | undefined;
}
