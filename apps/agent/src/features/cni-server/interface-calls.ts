import type { CniCmdArgs, CniResult, NetworkConfig } from "@antrea/cni";
import { addressAdd, addressResult, type AddressBackend } from "./address-calls.ts";
import { attachmentOf, podAttachmentOf, previousOf } from "./call-args.ts";
import { networkAdd, networkResult, type NetworkBackend } from "./network-calls.ts";
import { parsedAt } from "./refusals.ts";

/** A call, decoded. */
export interface DecodedCall {
    readonly args: CniCmdArgs;
    readonly config: NetworkConfig;
    /** Monotonic, ms. */
    readonly receivedAt: number;
}

/** The answers to the CNI commands of one call that is not for an interface on the Pod network. */
export interface InterfaceCalls extends Pick<AddressBackend, "collect" | "delete"> {
    /**
     * Checks the arguments at once (throws CniCallError) and returns the ADD itself, which the caller starts when the Node
     * is ready and which resolves with the CNI result. Rejects as the backend does.
     */
    readonly add: () => (signal: AbortSignal) => Promise<CniResult>;
    /** CHECK: rejects with the first difference from what ADD made. */
    readonly check: () => Promise<void>;
}

/** For the addresses of an interface that another plugin makes. */
export function addressCalls(addresses: AddressBackend, { args, config, receivedAt }: DecodedCall): InterfaceCalls {
    return {
        add: () => {
            const place = `network ${config.name}, interface ${args.ifname}`;
            const pod = parsedAt(place, () => podAttachmentOf(args));
            const call = parsedAt(
                place,
                () => addressAdd(args, config, pod, receivedAt),
                (error) => addresses.refused(pod, error),
            );
            return async (signal) => addressResult(call, await addresses.add(call, signal));
        },
        check: () =>
            addresses.check(
                { ...attachmentOf(args), network: config.name },
                config.prevResult && (previousOf(config) ?? []),
            ),
        delete: (attachment) => addresses.delete(attachment),
        collect: (...asked) => addresses.collect(...asked),
    };
}

/** For one interface on another network, which a meta plugin asks for. */
export function networkCalls(networks: NetworkBackend, { args, config, receivedAt }: DecodedCall): InterfaceCalls {
    return {
        add: () => {
            const pod = parsedAt(`network ${config.name}`, () => podAttachmentOf(args));
            const request = { ...pod, netns: args.netns, network: config.name, receivedAt };
            const call = parsedAt(
                `network ${pod.podNamespace}/${config.name}`,
                () => networkAdd(args, config, request),
                (error) => networks.refused(request, error),
            );
            return async (signal) => networkResult(call, await networks.add(call, signal));
        },
        check: () => networks.check({ ...attachmentOf(args), netns: args.netns, previous: previousOf(config) }),
        delete: (attachment) => networks.delete(attachment),
        collect: (...asked) => networks.collect(...asked),
    };
}
