import { AntreaError } from "@antrea/errors";
import { formatIp, sameIp, type IpAddress } from "@antrea/ip";
import { isNetlinkError, Netlink, type Address, type Link, type Route } from "@antrea/netlink";
import { isPeerIn } from "./link.ts";
import type { FunctionDevice, PodAttachment } from "../../platform/pod-interfaces/index.ts";

/**
 * A difference found by CHECK, fault `environment`; the code names the part (`ALLOCATION`: the IPAllocation, `NETNS`: the
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
    | "ALLOCATION"
    | "ISOLATED"
> {}

/** What is read of the record of an interface. */
export interface CheckedRecord extends PodAttachment {
    readonly netns: string;
    readonly hostIfName: string;
    /** Undefined for a veth pair. */
    readonly device?: FunctionDevice | undefined;
    readonly mac: string;
    readonly addresses: readonly { readonly ip: IpAddress; readonly prefixLength: number }[];
}

/** What CHECK compares an interface with. */
export interface CheckEnds {
    readonly record: CheckedRecord;
    /** Path of the container's network namespace; "" if the caller passed none. */
    readonly netns: string;
    /** The addresses of `prevResult`, if the caller passed one. */
    readonly previous: readonly { readonly ip: IpAddress; readonly prefixLength: number }[] | undefined;
}

/** The Pod end of an interface, as the kernel has it, with the routes of its namespace. */
export interface PodEnd {
    readonly link: Link;
    readonly routes: readonly Route[];
}

/**
 * Compares the two ends of an interface, of a virtual function the only one, with its record; changes nothing. Rejects with CheckError on the first difference,
 * and with NetlinkError if the Node's links cannot be read.
 */
export async function checkEnds(netlink: Netlink, input: CheckEnds): Promise<PodEnd> {
    const { record } = input;
    checkPrevious(input);
    const inside = await checkInside(input);
    if (inside.link.mac !== record.mac) {
        throw differs("MAC", record, `interface ${record.ifName} has MAC ${inside.link.mac}, not ${record.mac}`);
    }
    if (!inside.link.up) throw differs("INTERFACE", record, `interface ${record.ifName} is down`);
    if (record.device === undefined) await checkHostLink(netlink, inside, input);
    checkAddresses(record, inside.addresses);
    return inside;
}

async function checkHostLink(netlink: Netlink, inside: Inside, input: CheckEnds): Promise<void> {
    const { record } = input;
    const host = await netlink.link(record.hostIfName);
    if (host === undefined) throw differs("HOST_LINK", record, `the Node has no link ${record.hostIfName}`);
    if (!(await arePair(netlink, host, inside, input))) {
        throw differs(
            "HOST_LINK",
            record,
            `${record.hostIfName} and ${record.ifName} are not the two ends of one veth pair`,
        );
    }
    if (!host.up) throw differs("HOST_LINK", record, `${record.hostIfName} is down`);
}

/** The difference of an interface, as an error that names its Pod and container. */
export function differs(
    code: CheckError["code"],
    { podNamespace, podName, containerId }: PodAttachment,
    what: string,
    cause?: unknown,
): CheckError {
    return new CheckError(code, "environment", `Pod ${podNamespace}/${podName}, container ${containerId}: ${what}`, {
        cause,
    });
}

interface Inside extends PodEnd {
    /** Path of the network namespace. */
    readonly netns: string;
    readonly addresses: readonly Address[];
}

/** The namespace is checked last, because it needs a netlink request. */
async function arePair(netlink: Netlink, host: Link, { netns, link }: Inside, input: CheckEnds): Promise<boolean> {
    if (host.peerIndex !== link.index || link.peerIndex !== host.index) return false;
    try {
        return await isPeerIn(netlink, host, netns);
    } catch (error) {
        throw asUnreadable(error, netns, input);
    }
}

async function checkInside(input: CheckEnds): Promise<Inside> {
    const { record } = input;
    if (record.netns !== "" && input.netns !== "" && record.netns !== input.netns) {
        throw differs("NETNS", record, `the container's namespace is ${record.netns}, not ${input.netns}`);
    }
    const netns = input.netns === "" ? record.netns : input.netns;
    try {
        using pod = Netlink.openIn(netns);
        const link = await pod.link(record.ifName);
        if (link === undefined)
            throw differs("INTERFACE", record, `namespace ${netns} has no interface ${record.ifName}`);
        return { netns, link, addresses: await pod.addresses(link.index), routes: await pod.routes() };
    } catch (error) {
        throw asUnreadable(error, netns, input);
    }
}

function asUnreadable(error: unknown, netns: string, { record }: CheckEnds): unknown {
    return isNetlinkError(error) ? differs("NETNS", record, `namespace ${netns} cannot be read`, error) : error;
}

function checkPrevious({ record, previous }: CheckEnds): void {
    for (const address of record.addresses) {
        if (previous === undefined) return;
        if (previous.some((one) => sameIp(one.ip, address.ip) && one.prefixLength === address.prefixLength)) continue;
        throw differs(
            "PREV_RESULT",
            record,
            `prevResult lacks ${formatIp(address.ip)}/${address.prefixLength}, which the interface was given`,
        );
    }
}

function checkAddresses(record: CheckedRecord, present: readonly Address[]): void {
    for (const address of record.addresses) {
        if (present.some((one) => sameIp(one.ip, address.ip) && one.prefixLength === address.prefixLength)) continue;
        throw differs(
            "ADDRESS",
            record,
            `interface ${record.ifName} lacks address ${formatIp(address.ip)}/${address.prefixLength}`,
        );
    }
}
