import {
    CniCallError,
    parseCniArgs,
    shown,
    type CniCmdArgs,
    type CniDns,
    type CniResult,
    type CniRoute,
    type NetworkConfig,
} from "@antrea/cni";
import { formatIp } from "@antrea/ip";
import { networkOfCall, requestedMac, wantedAddresses, type IpamSection } from "@antrea/networks";
import type { AddRequest, Attachment, NetworkCall, NetworkRecord } from "../../platform/pod-interfaces/index.ts";
import type { CheckRequest } from "./check-request.ts";

/** Makes interfaces that a meta plugin asks for one by one. Paths of network namespaces are as the runtime passes them. */
export interface NetworkBackend {
    /** Makes an interface; all or nothing. */
    add(call: NetworkCall, signal: AbortSignal): Promise<NetworkRecord>;
    /** Records on the Pod why its ADD is refused, for which `add` is not called then. Never throws. */
    refused(request: AddRequest, error: unknown): void;
    /** Removes it; succeeds if there is none, and while a dependency is unavailable. */
    delete(attachment: Attachment): Promise<void>;
    /** Rejects with the first difference, or if there is no such interface. */
    check(request: CheckRequest): Promise<void>;
    /** Removes the interfaces of a network that are not in the list and are older; see `CniBackend.collect`. */
    collect(network: string, valid: readonly Attachment[], receivedAt: number): Promise<number>;
}

const noAddresses: IpamSection = { ippools: [], addresses: [], routes: [], dns: undefined, ignored: [] };

/** The error for every call but DEL and GC while the agent makes no such interfaces; `network` is the CNI network's name. */
export function noNetworks(network: string, networkType: unknown): CniCallError {
    return new CniCallError(
        "UNSUPPORTED_FIELD",
        "caller",
        `network ${network}: networkType: ${shown(networkType)} is not served: the feature gate SecondaryNetwork is off; next: install with featureGates.SecondaryNetwork=true, take the NetworkAttachmentDefinition out of the Pod's annotation k8s.v1.cni.cncf.io/networks, or serve it by another plugin`,
    );
}

/**
 * Reads an ADD for one interface; `request` has the Pod of CNI_ARGS. Throws NetworkError or CniCallError for a
 * configuration or a request that breaks a rule.
 */
export function networkAdd(args: CniCmdArgs, config: NetworkConfig, request: AddRequest): NetworkCall {
    refuseOwnNames(request);
    const asked = networkOfCall(config, request.podNamespace);
    const input = { args: parseCniArgs(args.args), config };
    const wanted = wantedAddresses(asked.ipam ?? noAddresses, input);
    // What only the network lists is no request.
    const isRequested = wanted.source !== "ipam.addresses";
    return { ...request, asked, mac: requestedMac(input), wanted: isRequested ? wanted : undefined };
}

/** What every Pod has is nobody else's. */
function refuseOwnNames({ ifName }: AddRequest): void {
    if (ifName !== "eth0" && ifName !== "lo") return;
    throw new CniCallError(
        "INVALID_ENVIRONMENT_VARIABLES",
        "caller",
        `CNI_IFNAME: ${ifName} is the name of an interface that every Pod has; next: request another interface name in the Pod's annotation k8s.v1.cni.cncf.io/networks`,
    );
}

/** The result of an ADD for one interface. Routes and DNS are those of the network's section. */
export function networkResult({ asked, netns }: NetworkCall, record: NetworkRecord): CniResult {
    const routes: readonly CniRoute[] = asked.ipam?.routes ?? [];
    const dns: CniDns = asked.ipam?.dns ?? {};
    const { device, hostIfName, ifName, mac } = record;
    const pciId = device?.bus === "pci" ? { pciID: device.id } : {};
    // A virtual function has no other end on the Node.
    const hostEnds = device === undefined ? [{ name: hostIfName }] : [];
    return {
        interfaces: [...hostEnds, { name: ifName, mac, sandbox: netns, ...pciId }],
        ips: record.addresses.map(({ ip, prefixLength, gateway }) => ({
            address: `${formatIp(ip)}/${prefixLength}`,
            ...(gateway === undefined ? {} : { gateway: formatIp(gateway) }),
            interface: hostEnds.length,
        })),
        routes,
        dns,
    };
}
