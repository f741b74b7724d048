import { AntreaError } from "@antrea/errors";
import type { Flow } from "@antrea/openflow";
import { formatIp, sameIp, type IpAddress } from "@antrea/ip";
import { isNetlinkError, Netlink, type Address, type Link, type Route } from "@antrea/netlink";
import { isPeerIn } from "./link.ts";
import { missingFlows } from "./missing-flows.ts";
import type { PodInterface, PodRecord } from "../../platform/pod-interfaces/index.ts";

/**
 * A difference found by CHECK, fault `environment`; the code names the part (`CLAIM`: the IPAllocation, `NETNS`: the
 * namespace differs or cannot be read), the message both states.
 */
export class CheckError extends AntreaError<
    | "NETNS"
    | "INTERFACE"
    | "MAC"
    | "HOST_LINK"
    | "ADDRESS"
    | "PREV_RESULT"
    | "ROUTE"
    | "OVS_PORT"
    | "FLOWS"
    | "CLAIM"
    | "ISOLATED"
> {}

/** Dependencies of checkInterface. */
export interface CheckComponents {
    readonly netlink: Netlink;
    /** The port of this name on the bridge, with the error by which OVS cannot open it; undefined if there is none. */
    readonly port: (
        name: string,
    ) => { readonly ofPort: number | undefined; readonly error: string | undefined } | undefined;
    /** The desired flows of an interface. */
    readonly flowsOf: (known: PodInterface) => readonly Flow[];
    /** Dumps the flows in OVS that carry the cookie of this agent's round. */
    readonly dumpFlows: () => Promise<readonly Flow[]>;
    /** Describes a problem with the allocations of a record's pool addresses; undefined if there is none. */
    readonly allocationProblem: (record: PodRecord) => Promise<string | undefined>;
}

/** The interface to check. */
export interface CheckInput {
    readonly known: PodInterface;
    /** Path of the container's network namespace; "" if the caller passed none. */
    readonly netns: string;
    /** The addresses of `prevResult`, if the caller passed one. */
    readonly previous: readonly { readonly ip: IpAddress; readonly prefixLength: number }[] | undefined;
}

/**
 * Implements CNI CHECK: compares a wired interface with the kernel and OVS; changes nothing. Rejects with CheckError on
 * the first difference, and with the error of the part that cannot be read, e.g. OVS.
 */
export async function checkInterface(components: CheckComponents, input: CheckInput): Promise<void> {
    const { record } = input.known;
    checkPrevious(input);
    const inside = await checkInside(input);
    if (inside.link.mac !== record.mac) {
        throw failure("MAC", input, `interface ${record.ifName} has MAC ${inside.link.mac}, not ${record.mac}`);
    }
    if (!inside.link.up) throw failure("INTERFACE", input, `interface ${record.ifName} is down`);
    const host = await components.netlink.link(record.hostIfName);
    if (host === undefined) throw failure("HOST_LINK", input, `the Node has no link ${record.hostIfName}`);
    if (!(await arePair(components.netlink, host, inside, input))) {
        throw failure(
            "HOST_LINK",
            input,
            `${record.hostIfName} and ${record.ifName} are not the two ends of one veth pair`,
        );
    }
    if (!host.up) throw failure("HOST_LINK", input, `${record.hostIfName} is down`);
    checkAddresses(input, inside.addresses);
    checkRoutes(input, inside.routes, inside.link.index);
    const port = components.port(record.hostIfName);
    if (port === undefined) throw failure("OVS_PORT", input, `OVS has no port ${record.hostIfName}`);
    if (port.ofPort !== input.known.ofPort) {
        throw failure(
            "OVS_PORT",
            input,
            `OVS port ${record.hostIfName} has number ${port.ofPort ?? "none"}, not ${input.known.ofPort}${port.error === undefined ? "" : `: ${port.error}`}`,
        );
    }
    const problem = await components.allocationProblem(record);
    if (problem !== undefined) throw failure("CLAIM", input, problem);
    if (record.isolated === true) {
        throw failure(
            "ISOLATED",
            input,
            "the interface is isolated, because its address is or may soon be another Pod's; see the events of the Pod",
        );
    }
    const missing = await missingFlows(components.flowsOf(input.known), await components.dumpFlows());
    if (missing.length > 0) {
        throw failure(
            "FLOWS",
            input,
            `OVS lacks ${missing.length} flows of the interface, the first in table ${missing[0]?.table}`,
        );
    }
}

/** The namespace is checked last, because it needs a netlink request. */
async function arePair(netlink: Netlink, host: Link, { netns, link }: Inside, input: CheckInput): Promise<boolean> {
    if (host.peerIndex !== link.index || link.peerIndex !== host.index) return false;
    try {
        return await isPeerIn(netlink, host, netns);
    } catch (error) {
        throw asUnreadable(error, netns, input);
    }
}

interface Inside {
    /** Path of the network namespace. */
    readonly netns: string;
    readonly link: Link;
    readonly addresses: readonly Address[];
    readonly routes: readonly Route[];
}

async function checkInside(input: CheckInput): Promise<Inside> {
    const { record } = input.known;
    if (record.netns !== "" && input.netns !== "" && record.netns !== input.netns) {
        throw failure("NETNS", input, `the container's namespace is ${record.netns}, not ${input.netns}`);
    }
    const netns = input.netns === "" ? record.netns : input.netns;
    try {
        using pod = Netlink.openIn(netns);
        const link = await pod.link(record.ifName);
        if (link === undefined)
            throw failure("INTERFACE", input, `namespace ${netns} has no interface ${record.ifName}`);
        return { netns, link, addresses: await pod.addresses(link.index), routes: await pod.routes() };
    } catch (error) {
        throw asUnreadable(error, netns, input);
    }
}

function asUnreadable(error: unknown, netns: string, input: CheckInput): unknown {
    return isNetlinkError(error) ? failure("NETNS", input, `namespace ${netns} cannot be read`, error) : error;
}

function checkPrevious(input: CheckInput): void {
    for (const address of input.known.record.addresses) {
        if (input.previous === undefined) return;
        if (input.previous.some((one) => sameIp(one.ip, address.ip) && one.prefixLength === address.prefixLength))
            continue;
        throw failure(
            "PREV_RESULT",
            input,
            `prevResult lacks ${formatIp(address.ip)}/${address.prefixLength}, which the interface was given`,
        );
    }
}

function checkAddresses(input: CheckInput, present: readonly Address[]): void {
    for (const address of input.known.record.addresses) {
        if (present.some((one) => sameIp(one.ip, address.ip) && one.prefixLength === address.prefixLength)) continue;
        throw failure(
            "ADDRESS",
            input,
            `interface ${input.known.record.ifName} lacks address ${formatIp(address.ip)}/${address.prefixLength}`,
        );
    }
}

function checkRoutes(input: CheckInput, present: readonly Route[], index: number): void {
    for (const { gateway } of input.known.record.addresses) {
        const found = present.some(
            (route) =>
                route.dst.length === 0 && route.dev === index && route.via !== undefined && sameIp(route.via, gateway),
        );
        if (!found)
            throw failure("ROUTE", input, `no default route via ${formatIp(gateway)} on ${input.known.record.ifName}`);
    }
}

function failure(code: CheckError["code"], input: CheckInput, what: string, cause?: unknown): CheckError {
    const { podNamespace, podName, containerId } = input.known.record;
    return new CheckError(code, "environment", `Pod ${podNamespace}/${podName}, container ${containerId}: ${what}`, {
        cause,
    });
}
