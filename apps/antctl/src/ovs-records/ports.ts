import { AntreaError } from "@antrea/errors";
import { IpError, parseIp, type IpAddress } from "@antrea/ip";

/**
 * The output of ovs-vsctl cannot be parsed: code `BAD_OUTPUT`, fault `remote`; the message is a sentence about it ("it
 * is no JSON").
 */
export class OvsOutputError extends AntreaError<"BAD_OUTPUT"> {}

/**
 * Command that lists the ports of a Node with the agent's external_ids, for container `antrea-ovs` of an agent Pod;
 * `readPorts` parses its output.
 */
export const listPorts: readonly string[] = [
    "ovs-vsctl",
    "--timeout=10",
    "--format=json",
    "--columns=name,external_ids",
    "list",
    "Port",
];

/** Instead of the IPPool of an address, in records of other networks than the Pod network: there is none. */
const staticMark = "-";

/** One address of an interface. */
export interface RecordAddress {
    readonly ip: IpAddress;
    /**
     * The IPPool of the address, "" if the agent does not know it; undefined for an address of the Node's own
     * subnets.
     */
    readonly pool: string | undefined;
}

/**
 * The record of a Pod's interface in OVSDB: name and external_ids of its Port, as the agent writes them; "" for an
 * absent key, but interface `eth0`. A virtual function has the port of its container's eth0.
 */
export interface PortRecord {
    readonly port: string;
    readonly containerId: string;
    readonly ifName: string;
    readonly podNamespace: string;
    readonly podName: string;
    readonly podUid: string;
    /** Its network, as the agent names it; undefined for the Pod network. */
    readonly network: string | undefined;
    /** On another network than the Pod network without static ones, which nobody allocates. */
    readonly addresses: readonly RecordAddress[];
}

/**
 * Parses the output of {@link listPorts}: a table with cells in the notation of RFC 7047 section 5.1. Ports that are
 * not Antrea's, those without an address of interest, and invalid addresses are left out. Throws OvsOutputError
 * `BAD_OUTPUT`.
 */
export function readPorts(text: string): readonly PortRecord[] {
    const { headings, data } = readTable(text);
    const nameAt = headings.indexOf("name");
    const idsAt = headings.indexOf("external_ids");
    if (nameAt < 0 || idsAt < 0)
        throw new OvsOutputError("BAD_OUTPUT", "remote", "it has no columns name, external_ids");
    return data.flatMap((row) => {
        const cells: readonly unknown[] = Array.isArray(row) ? row : [];
        const [port, ids] = [String(cells[nameAt]), readMap(cells[idsAt])];
        return [ids, ...readFunctions(ids.get("virtual-functions"))].flatMap((one) => readRecord(port, one) ?? []);
    });
}

/** The records of virtual functions, which have no port: that of their container's eth0 has them, as JSON. */
function readFunctions(text: string | undefined): readonly ReadonlyMap<string, string>[] {
    let list: unknown;
    try {
        list = JSON.parse(text ?? "[]");
    } catch {
        return [];
    }
    const elements: readonly unknown[] = Array.isArray(list) ? list : [];
    return elements.flatMap((element) => {
        if (typeof element !== "object" || element === null) return [];
        return new Map(Object.entries(element).map(([key, value]) => [key, String(value)]));
    });
}

function readTable(text: string): { readonly headings: readonly unknown[]; readonly data: readonly unknown[] } {
    let table: unknown;
    try {
        table = JSON.parse(text);
    } catch (cause) {
        throw new OvsOutputError("BAD_OUTPUT", "remote", "it is no JSON", { cause });
    }
    const { headings, data } = (table ?? {}) as { readonly headings?: unknown; readonly data?: unknown };
    if (Array.isArray(headings) && Array.isArray(data)) return { headings, data };
    throw new OvsOutputError("BAD_OUTPUT", "remote", "it is no table with headings and data");
}

function readMap(cell: unknown): ReadonlyMap<string, string> {
    const [kind, pairs] = (Array.isArray(cell) ? cell : []) as readonly unknown[];
    if (kind !== "map" || !Array.isArray(pairs))
        throw new OvsOutputError("BAD_OUTPUT", "remote", "external_ids is no map");
    return new Map(
        pairs.map((pair) => {
            const [key, value] = (Array.isArray(pair) ? pair : []) as readonly unknown[];
            return [String(key), String(value)];
        }),
    );
}

function readRecord(port: string, ids: ReadonlyMap<string, string>): PortRecord | undefined {
    const texts = ids.get("ip-address") ?? "";
    if (ids.get("antrea-type") !== "container" || texts === "") return undefined;
    const network = ids.get("secondary-network");
    const all = readAddresses(texts, ids.get("ip-pool"));
    const addresses = network === undefined ? all : all.filter(({ pool }) => pool !== staticMark);
    if (network !== undefined && addresses.length === 0) return undefined;
    return {
        port,
        containerId: ids.get("container-id") ?? "",
        ifName: ids.get("if-dev") ?? "eth0",
        podNamespace: ids.get("pod-namespace") ?? "",
        podName: ids.get("pod-name") ?? "",
        podUid: ids.get("pod-uid") ?? "",
        network,
        addresses,
    };
}

function readAddresses(addresses: string, pools: string | undefined): readonly RecordAddress[] {
    const names = pools?.split(",");
    return addresses.split(",").flatMap((text, at) => {
        try {
            return [{ ip: parseIp(text.trim()), pool: names && (names[at] ?? "") }];
        } catch (error) {
            if (error instanceof IpError) return [];
            throw error;
        }
    });
}
