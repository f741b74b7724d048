import { type NetworkAttachmentDefinition } from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";

/**
 * Who attaches the networks that Pods request: nobody, or a plugin that the runtimes of all Nodes call first, antrea
 * or a meta plugin.
 */
export type Attacher = "nobody" | "antrea" | "meta plugin";

/** What is read of a NetworkAttachmentDefinition. */
export interface Network {
    /** `antrea`: interfaces in a VLAN; `macvlan`: another plugin makes them, with addresses of IPPools. */
    readonly type: "antrea" | "macvlan";
    /** 0: that of the IPPools. */
    readonly vlan: number;
    /** Each gives one address; empty without IPAM. */
    readonly pools: readonly string[];
    /** The network configuration. */
    readonly config: Readonly<Record<string, unknown>>;
}

/** An element of the annotation of a Pod. */
export interface Selection {
    readonly ifName: string;
    /** `namespace/name` of the network. */
    readonly network: string;
    /** A requested address. */
    readonly ip: string | undefined;
}

interface Config {
    readonly type: Network["type"];
    readonly vlan?: number;
    readonly ipam?: { readonly ippools?: readonly string[] };
}

/** Whether no IPPool contains the address: those that networks list themselves. */
export function isStatic(address: string): boolean {
    return address.startsWith("172.20.");
}

/** The network as its object defines it. */
export function readNetwork({ metadata, spec }: NetworkAttachmentDefinition): Network {
    const config = JSON.parse(spec?.config ?? "{}") as Config;
    const { type, vlan = 0, ipam } = config;
    return { type, vlan, pools: ipam?.ippools ?? [], config: { name: metadata?.name, ...config } };
}

/** The interfaces that a Pod requests, with the names that the attacher gives them. */
export function selectionsOf(
    annotations: Readonly<Record<string, string>> | undefined,
    attacher: Attacher,
): readonly Selection[] {
    const text = attacher === "nobody" ? undefined : annotations?.[networksAnnotation];
    const all = JSON.parse(text ?? "[]") as readonly {
        readonly name: string;
        readonly namespace: string;
        readonly interface?: string;
        readonly ips?: readonly string[];
    }[];
    const requested = new Set(all.map((one) => one.interface));
    let next = 0;
    return all.map(({ name, namespace, interface: ifName, ips }, at) => {
        const given = (): string => {
            if (attacher === "meta plugin") return `net${at + 1}`;
            do next += 1;
            while (requested.has(`eth${next}`));
            return `eth${next}`;
        };
        return { ifName: ifName ?? given(), network: `${namespace}/${name}`, ip: ips?.[0] };
    });
}
