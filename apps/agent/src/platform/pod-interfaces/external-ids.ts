import { formatIp, parseIp } from "@antrea/ip";
import type { PodAttachment } from "./attachment.ts";
import { attachmentIds, commonIds, readCommonIds } from "./common-ids.ts";
import { fromFunctionText, toFunctionText } from "./function-records.ts";
import { isMac, readAddress, readVlan, separator } from "./record-text.ts";
import { isPoolRecord, type PodAddress, type PodRecord } from "./record.ts";

const networkKey = "cni-network";
const functionsKey = "virtual-functions";
const networksHashKey = "networks-hash";

/**
 * The external_ids of a port whose addresses are not known yet, which `fromExternalIds` reads as "unfinished": such a
 * port found at startup is removed, since no ADD has returned it.
 */
export function unfinishedExternalIds(
    request: PodAttachment & Pick<PodRecord, "bootId">,
): Readonly<Record<string, string>> {
    return attachmentIds(request);
}

/**
 * The record as all external_ids of a Port, for `fromExternalIds`. Keys that upstream Antrea uses are the same; the
 * others are additional. Lists are separated by commas.
 */
export function toExternalIds(record: PodRecord): Readonly<Record<string, string>> {
    return {
        ...commonIds(record),
        "ip-address": record.addresses.map((address) => formatIp(address.ip)).join(separator),
        "ip-prefix-length": record.addresses.map((address) => String(address.prefixLength)).join(separator),
        "ip-gateway": record.addresses.map((address) => formatIp(address.gateway)).join(separator),
        ...(isPoolRecord(record)
            ? { "ip-pool": record.addresses.map((address) => address.pool ?? "").join(separator) }
            : {}),
        ...(record.network === undefined ? {} : { [networkKey]: record.network }),
        ...(record.functions === undefined ? {} : { [functionsKey]: toFunctionText(record.functions) }),
        ...(record.networksHash === undefined ? {} : { [networksHashKey]: record.networksHash }),
    };
}

/**
 * Decodes a record from the external_ids of the Port `hostIfName`. Undefined if the port is not a Pod interface
 * (`antrea-type` is not container); "unfinished" if it lacks addresses, MAC or container ID, or they are invalid: no
 * ADD has returned such an interface.
 */
export function fromExternalIds(
    hostIfName: string,
    ids: ReadonlyMap<string, string>,
): PodRecord | "unfinished" | undefined {
    if (ids.get("antrea-type") !== "container") return undefined;
    const containerId = ids.get("container-id") ?? "";
    const addresses = readAddresses(ids);
    const mac = ids.get("attached-mac") ?? "";
    // An earlier agent wrote an empty name when it rebuilt a record from its link.
    const network = ids.get(networkKey) || undefined;
    const functions = fromFunctionText(ids.get(functionsKey));
    const networksHash = ids.get(networksHashKey) || undefined;
    if (containerId === "" || !isMac(mac) || addresses === undefined) return "unfinished";
    return {
        containerId,
        ifName: ids.get("if-dev") ?? "eth0",
        ...readCommonIds(ids),
        hostIfName,
        mac,
        addresses,
        vlan: readVlan(ids.get("vlan") ?? "0"),
        ...(network === undefined ? {} : { network }),
        ...(functions.length === 0 ? {} : { functions }),
        ...(networksHash === undefined ? {} : { networksHash }),
    };
}

function readAddresses(ids: ReadonlyMap<string, string>): readonly PodAddress[] | undefined {
    const [ip, length, gateway] = ["ip-address", "ip-prefix-length", "ip-gateway"].map((key) =>
        ids.get(key)?.split(separator),
    );
    if (ip === undefined || length?.length !== ip.length || gateway?.length !== ip.length) return undefined;
    const pools = ids.get("ip-pool")?.split(separator);
    try {
        return ip.map((text, index) => ({
            ...readAddress(text, length[index] ?? ""),
            gateway: parseIp(gateway[index] ?? ""),
            ...(pools === undefined ? {} : { pool: pools[index] ?? "" }),
        }));
    } catch {
        return undefined;
    }
}
