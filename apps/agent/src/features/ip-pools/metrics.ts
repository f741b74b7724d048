import { type MetricsFactory } from "@antrea/runtime";

/** Counters and timings of pool allocation; each method counts one occurrence. */
export interface IpamMetrics {
    /** All addresses of an interface were allocated, in this time. */
    claimed(seconds: number): void;
    /** An interface got no address; `reason` is an IpPoolErrorCode, or "INTERNAL" for other errors. */
    failed(reason: string): void;
    /** Another holder allocated the address first. */
    conflict(): void;
    /** A request without an answer was retried. */
    retry(): void;
    /** All allocations of a pool were listed. */
    relist(): void;
    /** An allocation of this Node has neither an interface nor a Pod that uses it. */
    leakFound(): void;
    /** Such an allocation was freed. */
    reclaimed(): void;
    /** An allocation was recreated or corrected from the record of its interface. */
    recordMended(): void;
    /** An interface was isolated, since its address is allocated to another Pod or in the podCIDR of another Node. */
    heldElsewhere(): void;
}

/**
 * Values of the gauges, as numbers of: block watches, allocations of this Node, allocations that appear unused,
 * addresses that differ from their pool, isolated interfaces. Called at each scrape.
 */
export interface IpamState {
    readonly blockViews: () => number;
    readonly ownAllocations: () => number;
    readonly leakCandidates: () => number;
    readonly poolChanged: () => number;
    readonly isolated: () => number;
}

/**
 * Registers the gauge `antrea_agent_ipam_isolated_interfaces`, used with and without IPPools; once per process.
 * `collect` is called at each scrape.
 */
export function isolatedInterfacesMetric(factory: Pick<MetricsFactory, "gauge">, collect: () => number): void {
    factory.gauge({
        name: "antrea_agent_ipam_isolated_interfaces",
        help: "Pod interfaces without traffic, because their address is allocated to another Pod or in the podCIDR of another Node, or their Node was deleted.",
        collect,
    });
}

/** Registers the metrics of the agent's pool allocation (`antrea_agent_ipam_*`); to be called once per process. */
export function ipamMetrics(factory: MetricsFactory, state: IpamState): IpamMetrics {
    const durations = factory.histogram({
        name: "antrea_agent_ipam_claim_duration_seconds",
        help: "Time to allocate the addresses of a Pod's interface from IPPools.",
    });
    const failures = factory.counter({
        name: "antrea_agent_ipam_failures_total",
        help: "Pod interfaces that got no address of their IPPools, by reason.",
        labelNames: ["reason"],
    });
    // Names are spelled out in full so that grep finds them.
    const counter = (name: string, help: string): (() => void) => {
        const one = factory.counter({ name, help });
        return () => one.inc();
    };
    const gauge = (name: string, help: string, collect: () => number): void => {
        factory.gauge({ name, help, collect });
    };
    gauge("antrea_agent_ipam_block_views", "Blocks of addresses that this agent watches.", state.blockViews);
    gauge("antrea_agent_ipam_claims", "Addresses that are allocated to Pods of this Node.", state.ownAllocations);
    gauge(
        "antrea_agent_ipam_leak_candidates",
        "Allocations of this Node without an interface that are checked again before they are released.",
        state.leakCandidates,
    );
    isolatedInterfacesMetric(factory, state.isolated);
    gauge(
        "antrea_agent_ipam_pool_changed_addresses",
        "Addresses of running containers that are no longer in any IPPool, or whose gateway, prefix length or VLAN differs from their IPPool.",
        state.poolChanged,
    );
    return {
        claimed: (seconds) => durations.observe(seconds),
        failed: (reason) => failures.inc({ reason }),
        conflict: counter(
            "antrea_agent_ipam_claim_conflicts_total",
            "Addresses that were allocated to another Pod first.",
        ),
        retry: counter(
            "antrea_agent_ipam_request_retries_total",
            "Requests to the API server that were retried because no response arrived.",
        ),
        relist: counter(
            "antrea_agent_ipam_pool_relists_total",
            "Lists of all allocations of a pool, made before it is reported as exhausted.",
        ),
        leakFound: counter(
            "antrea_agent_ipam_leaks_found_total",
            "Allocations of this Node that were found without an interface and a Pod.",
        ),
        reclaimed: counter(
            "antrea_agent_ipam_reclaims_total",
            "Allocations of this Node that were released because nothing uses them.",
        ),
        recordMended: counter(
            "antrea_agent_ipam_records_mended_total",
            "Allocations that were recreated or corrected from the record of an interface.",
        ),
        heldElsewhere: counter(
            "antrea_agent_ipam_addresses_held_elsewhere_total",
            "Interfaces that were isolated because their address is allocated to another Pod or in the podCIDR of another Node.",
        ),
    };
}
