import { type CniDns } from "@antrea/cni";

/** The annotation in which a Pod's networks are reported (multi-network specification 1.3). */
export const statusAnnotation = "k8s.v1.cni.cncf.io/network-status";

/**
 * The status of one interface of a Pod, an element of the annotation; addresses are texts, `mac` is
 * "aa:bb:cc:dd:ee:ff".
 */
export interface NetworkStatus {
    /** `namespace/name` of the network; of the Pod's own interface the name in the CNI configuration. */
    readonly name: string;
    readonly interface: string;
    /** Without prefix lengths. */
    readonly ips: readonly string[];
    readonly mac: string;
    /** In bytes. */
    readonly mtu: number;
    /** True for the interface of the Pod network, left out for others. */
    readonly default?: true;
    /** The gateways of its addresses. */
    readonly gateway?: readonly string[];
    readonly dns: CniDns;
    /** The device of a virtual function (device information specification 1.1). */
    readonly "device-info"?: DeviceInfo;
}

/**
 * A device that a device plugin allocated (device information specification 1.1): of `pci` and `auxiliary` the one is
 * set that `type` names; a PCI address is "0000:af:06.0".
 */
export interface DeviceInfo {
    readonly type: "pci" | "auxiliary";
    readonly version: "1.1.0";
    readonly pci?: { readonly "pci-address": string };
    readonly auxiliary?: { readonly "device-id": string };
}

/** What `mergeStatus` reads of an element of ours; it writes all. */
export interface StatusOfOurs extends Pick<NetworkStatus, "name" | "interface"> {
    readonly default?: true | undefined;
}

/**
 * The text of the annotation after ours have been written: the Pod's own interface (`default`) first, then the others
 * of ours, then what others wrote (`earlier`, undefined for none), in their order. Ours replace entries of the same
 * interface, and of the same network if these name no interface; if one of ours is the default, `default` is removed
 * from the others. Dropped are elements that equal one of `former`, whose members are the JSON texts of what was ours
 * before. An earlier text that is no JSON list counts as none, elements that are no objects or have more than 100 levels
 * are dropped.
 */
export function mergeStatus(
    earlier: string | undefined,
    ours: readonly StatusOfOurs[],
    former: ReadonlySet<string> = new Set(),
): string {
    const interfaces = new Set(ours.map((status) => status.interface));
    const names = new Set(ours.map(({ name }) => name));
    const others = entriesOf(earlier).filter((entry) => {
        const { interface: ifName, name } = entry;
        if (former.has(JSON.stringify(entry))) return false;
        if (typeof ifName === "string" && ifName !== "") return !interfaces.has(ifName);
        return typeof name !== "string" || !names.has(name);
    });
    const first = ours.filter((status) => status.default === true);
    const rest = ours.filter((status) => status.default !== true);
    // Exactly one interface is the default.
    const kept = first.length === 0 ? others : others.map((entry) => ({ ...entry, default: undefined }));
    return JSON.stringify([...first, ...rest, ...kept]);
}

/**
 * The elements of the annotation that are about ours, in the order of `ours`: of the same name, interface and addresses,
 * whatever else they have. Undefined for one that the annotation lacks.
 */
export function writtenStatuses(
    text: string | undefined,
    ours: readonly NetworkStatus[],
): readonly (StatusOfOurs | undefined)[] {
    const entries = entriesOf(text);
    const keys = ["name", "interface", "ips", "mac"] as const;
    return ours.map((status) => {
        const found = entries.find((entry) =>
            keys.every((key) => JSON.stringify(entry[key]) === JSON.stringify(status[key])),
        );
        return found && { ...found, name: status.name, interface: status.interface, default: status.default };
    });
}

function entriesOf(text: string | undefined): readonly Readonly<Record<string, unknown>>[] {
    if (text === undefined || text.trim() === "") return [];
    let value: unknown;
    try {
        value = JSON.parse(text);
    } catch {
        return [];
    }
    const list: readonly unknown[] = Array.isArray(value) ? value : [];
    return list.filter(
        (entry): entry is Readonly<Record<string, unknown>> =>
            typeof entry === "object" && entry !== null && !Array.isArray(entry) && !hasMoreLevels(entry, maxLevels),
    );
}

/** JSON.parse accepts any depth; JSON.stringify needs stack for each level. */
const maxLevels = 100;

function hasMoreLevels(value: unknown, levels: number): boolean {
    if (typeof value !== "object" || value === null) return false;
    return levels === 0 || Object.values(value).some((one: unknown) => hasMoreLevels(one, levels - 1));
}
