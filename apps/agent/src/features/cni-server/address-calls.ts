import {
    CniCallError,
    parseCniArgs,
    type CniCmdArgs,
    type CniResult,
    type JsonObject,
    type NetworkConfig,
} from "@antrea/cni";
import type { IpAddress } from "@antrea/ip";
import {
    ipamResult,
    parseIpamSection,
    wantedAddresses,
    type IpamSection,
    type StaticAddress,
    type WantedAddresses,
} from "@antrea/networks";
import type { Attachment, PodAttachment } from "../../platform/pod-interfaces/index.ts";

/** An ADD for the addresses of an interface that another plugin makes. The Pod's UID is "" if the runtime sends none. */
export interface AddressAdd extends PodAttachment {
    /** Name of the CNI network. */
    readonly network: string;
    /** The plugin that makes the interface. */
    readonly type: string;
    readonly section: IpamSection;
    readonly wanted: WantedAddresses;
    /** When the call was received, in milliseconds of the monotonic clock; a DEL received later takes precedence. */
    readonly receivedAt: number;
}

/** Gives addresses to interfaces that other plugins make. */
export interface AddressBackend {
    /** Allocates the addresses of an interface, all or nothing. */
    add(call: AddressAdd, signal: AbortSignal): Promise<readonly StaticAddress[]>;
    /** Records on the Pod why its ADD is refused, for which `add` is not called then. Never throws. */
    refused(pod: PodAttachment, error: unknown): void;
    /** Frees them; succeeds if there are none, and while a dependency is unavailable. */
    delete(attachment: Attachment): Promise<void>;
    /** Rejects with the first difference to the addresses of `prevResult`, undefined without one. */
    check(
        attachment: Attachment & { readonly network: string },
        previous: readonly { readonly ip: IpAddress }[] | undefined,
    ): Promise<void>;
    /**
     * Frees the addresses of the interfaces of a network that are not in the list and older than the call, which was
     * received at `receivedAt` (monotonic, ms); resolves with the number of interfaces.
     */
    collect(network: string, valid: readonly Attachment[], receivedAt: number): Promise<number>;
}

/** The error for every call but DEL and GC while no pools are available; `network` is the name of the CNI network. */
export function noPools(network: string): CniCallError {
    return new CniCallError(
        "UNSUPPORTED_FIELD",
        "caller",
        `network ${network}: ipam.type: "antrea" is not served: the feature gate AntreaIPAM is off; next: install with featureGates.AntreaIPAM=true, or use another IPAM plugin in that network`,
    );
}

/**
 * Reads an ADD for addresses; `pod` is that of CNI_ARGS. Throws CniCallError for a section or requested addresses that
 * break a rule.
 */
export function addressAdd(
    args: CniCmdArgs,
    config: NetworkConfig,
    pod: PodAttachment,
    receivedAt: number,
): AddressAdd {
    const section = parseIpamSection(sectionOf(config));
    const wanted = wantedAddresses(section, { args: parseCniArgs(args.args), config });
    return { ...pod, network: config.name, type: config.type, section, wanted, receivedAt };
}

/** The result of an ADD for addresses (CNI specification, "Delegated plugins"). */
export function addressResult({ section }: AddressAdd, addresses: readonly StaticAddress[]): CniResult {
    return ipamResult(section, addresses);
}

function sectionOf({ ipam }: NetworkConfig): JsonObject {
    return ipam?.raw ?? {};
}
