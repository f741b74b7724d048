import { formatIp, parseIp } from "@antrea/ip";
import { commonIds, readCommonIds } from "./common-ids.ts";
import type { FunctionDevice, NetworkRecord, NetworkRecordAddress } from "./network-record.ts";
import { isMac, none, readAddress, readGateways, readMtu, readOwnVlan, separator } from "./record-text.ts";

const networkKey = "secondary-network";

/**
 * The record as all external_ids of a Port, for `fromNetworkIds`. Keys that records of the Pod network have too are the
 * same, see `toExternalIds`.
 */
export function toNetworkIds(record: NetworkRecord): Readonly<Record<string, string>> {
    const { addresses } = record;
    const list = (texts: readonly string[]): string => texts.join(separator);
    return {
        ...commonIds(record),
        [networkKey]: record.network,
        mtu: String(record.mtu),
        ...(addresses.length === 0
            ? {}
            : {
                  "ip-address": list(addresses.map(({ ip }) => formatIp(ip))),
                  "ip-prefix-length": list(addresses.map(({ prefixLength }) => String(prefixLength))),
                  "ip-gateway": list(
                      addresses.map(({ gateway }) => (gateway === undefined ? none : formatIp(gateway))),
                  ),
                  "ip-pool": list(addresses.map(({ pool }) => pool ?? none)),
              }),
        ...(record.defaultGateways.length === 0 ? {} : { "default-route": list(record.defaultGateways.map(formatIp)) }),
        ...(record.attachedBy === undefined ? {} : { "attached-by": record.attachedBy }),
        ...(record.device === undefined ? {} : toDeviceIds(record.device)),
    };
}

function toDeviceIds({ bus, id, linkName, linkMtu }: FunctionDevice): Readonly<Record<string, string>> {
    return { "device-bus": bus, device: id, "device-link": linkName, "device-mtu": String(linkMtu) };
}

/** Undefined if the record has no device, or not all of it. */
function readDevice(ids: ReadonlyMap<string, string>): FunctionDevice | undefined {
    const [bus, id, linkName] = [ids.get("device-bus"), ids.get("device"), ids.get("device-link")];
    const linkMtu = readMtu(ids.get("device-mtu"));
    if ((bus !== "pci" && bus !== "auxiliary") || !id || !linkName || linkMtu === undefined) return undefined;
    return { bus, id, linkName, linkMtu };
}

/**
 * Decodes a record from the external_ids of the Port `hostIfName`. Undefined if the port is not that of such an
 * interface; "unfinished" if it lacks container ID or MAC, or something in it is invalid: no ADD has returned it.
 */
export function fromNetworkIds(
    hostIfName: string,
    ids: ReadonlyMap<string, string>,
): NetworkRecord | "unfinished" | undefined {
    const network = ids.get(networkKey);
    if (ids.get("antrea-type") !== "container" || network === undefined) return undefined;
    const containerId = ids.get("container-id") ?? "";
    const ifName = ids.get("if-dev") ?? "";
    const mac = ids.get("attached-mac") ?? "";
    const addresses = readAddresses(ids);
    const defaultGateways = readGateways(ids.get("default-route"));
    const device = readDevice(ids);
    const [mtu, vlan] = [readMtu(ids.get("mtu")), readOwnVlan(ids.get("vlan") ?? "0")];
    if (containerId === "" || ifName === "" || !isMac(mac) || mtu === undefined || vlan === undefined)
        return "unfinished";
    if (addresses === undefined || defaultGateways === undefined) return "unfinished";
    return {
        containerId,
        ifName,
        ...readCommonIds(ids),
        network,
        hostIfName,
        mac,
        addresses,
        vlan,
        mtu,
        defaultGateways,
        ...(ids.get("attached-by") === "meta-plugin" ? { attachedBy: "meta-plugin" } : {}),
        ...(device === undefined ? {} : { device }),
    };
}

function readAddresses(ids: ReadonlyMap<string, string>): readonly NetworkRecordAddress[] | undefined {
    const text = ids.get("ip-address");
    if (text === undefined) return [];
    const [lengths, gateways, pools] = ["ip-prefix-length", "ip-gateway", "ip-pool"].map((key) =>
        ids.get(key)?.split(separator),
    );
    const ips = text.split(separator);
    if ([lengths, gateways, pools].some((list) => list?.length !== ips.length)) return undefined;
    try {
        return ips.map((ip, index) => {
            const gateway = gateways?.[index] ?? none;
            const pool = pools?.[index] ?? none;
            return {
                ...readAddress(ip, lengths?.[index] ?? ""),
                gateway: gateway === none ? undefined : parseIp(gateway),
                pool: pool === none ? undefined : pool,
            };
        });
    } catch {
        return undefined;
    }
}
