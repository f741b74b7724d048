import { AntreaError } from "@antrea/errors";

/**
 * Failures to wire or unwire a Pod interface:
 *
 * - `DELETED_MEANWHILE`: the container was deleted after its ADD was requested.
 * - `NO_PORT_NUMBER`: all OpenFlow port numbers for Pods are in use.
 * - `OTHER_NETNS`: the container has the interface in another network namespace.
 * - `OTHERS_NETNS`: the network namespace is that of another container.
 * - `SECOND_INTERFACE`: the container has an interface of the Pod network already.
 * - `CANCELLED`: the signal of the ADD aborted, for the reason in `cause`, whose fault it has (`aborted` by default).
 * - `STILL_REMOVED`: an earlier interface is not removed yet; retry.
 * - `NO_ADDRESS`: an allocation without an address.
 * - `TOO_SLOW`: the work exceeded its time limit; of work that logs its failure itself, the `cause` of an `ABORTED` error.
 * - `BUSY`: locks of containers were not available; retry.
 * - `ADDRESS_IN_USE`: another interface of this Node still uses the address; retry.
 * - `NO_FURTHER`: interfaces on other networks are planned, and the agent makes none.
 * - `LINK_VANISHED`: the interface is gone while it is set up.
 * - `BAD_ROUTE`: the kernel does not take a route of a network.
 * - `VLANS_APART`: the IPPools of a network have different VLANs, and the network names none.
 * - `LOW_MTU`: the MTU of a network is under the minimum of IPv6, and an interface on it has an IPv6 address.
 * - `FUNCTION_NOT_TAKEN`: a virtual function cannot be moved into the Pod, for the reason in `cause`.
 * - `ALLOCATION_DELETED`: an allocation was deleted while the ADD was in progress; retry.
 * - `OTHERS_SANDBOX`: a further interface is asked for in a container whose interface on the Pod network is not ours.
 */
export class PodNetworkError extends AntreaError<
    | "DELETED_MEANWHILE"
    | "NO_PORT_NUMBER"
    | "OTHER_NETNS"
    | "OTHERS_NETNS"
    | "SECOND_INTERFACE"
    | "CANCELLED"
    | "STILL_REMOVED"
    | "NO_ADDRESS"
    | "TOO_SLOW"
    | "BUSY"
    | "ADDRESS_IN_USE"
    | "NO_FURTHER"
    | "LINK_VANISHED"
    | "BAD_ROUTE"
    | "VLANS_APART"
    | "LOW_MTU"
    | "FUNCTION_NOT_TAKEN"
    | "ALLOCATION_DELETED"
    | "OTHERS_SANDBOX",
    { /** The IDs of the skipped containers; only of `BUSY`. */ readonly containers: readonly string[] }
> {}
