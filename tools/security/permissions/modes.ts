import { type Daemon } from "../programs.ts";
import { type Call } from "./calls.ts";

/** A way to install the chart, by the settings that decide which requests are sent. */
export interface Mode {
    readonly name: string;
    readonly nodeIpam: boolean;
    readonly ipam: boolean;
    readonly networks: boolean;
    /** OVS serves Services: by default, but not in bridging mode. */
    readonly services: boolean;
    /** OVS serves them to the Nodes and clients outside too. */
    readonly proxyAll: boolean;
    /** Values of the chart. */
    readonly values: readonly string[];
}

const nodeIpam = ["nodeIPAM.enable=true", "nodeIPAM.clusterCIDRs={10.244.0.0/16}"];
const ipam = ["featureGates.AntreaIPAM=true"];
const proxyAll = ["antreaProxy.proxyAll=true"];
const networks = ["featureGates.SecondaryNetwork=true"];
const bridging = [...ipam, "enableBridgingMode=true", "noSNAT=true", "trafficEncapMode=noEncap"];

const plain = { nodeIpam: false, ipam: false, networks: false, services: true, proxyAll: false, values: [] } as const;

/** All combinations under test. */
export const modes: readonly Mode[] = [
    { ...plain, name: "no IPAM at all" },
    { ...plain, name: "NodeIPAM", nodeIpam: true, values: nodeIpam },
    { ...plain, name: "IPPools", ipam: true, values: ipam },
    { ...plain, name: "IPPools and NodeIPAM", nodeIpam: true, ipam: true, values: [...ipam, ...nodeIpam] },
    { ...plain, name: "bridging mode", ipam: true, services: false, values: bridging },
    { ...plain, name: "proxyAll", proxyAll: true, values: proxyAll },
    { ...plain, name: "proxyAll and IPPools", ipam: true, proxyAll: true, values: [...ipam, ...proxyAll] },
    { ...plain, name: "VLAN networks", networks: true, values: networks },
    { ...plain, name: "VLAN networks and IPPools", ipam: true, networks: true, values: [...ipam, ...networks] },
];

type Works = (mode: Mode) => boolean;

/** Code that does not run in every mode, by its path; the first match applies. */
const conditional: readonly (readonly [where: string, works: Works])[] = [
    ["apps/agent/src/features/ip-pools/ignored-annotations.ts", ({ ipam }) => !ipam],
    ["apps/agent/src/features/ip-pools/isolated-pods.ts", ({ ipam }) => !ipam],
    // with IPPools their informer of ServiceCIDRs serves all
    ["apps/agent/src/platform/service-cidr-watch.ts", ({ ipam, networks: on, proxyAll: p }) => (on || p) && !ipam],
    ["apps/agent/src/features/ip-pools/", ({ ipam }) => ipam],
    // with IPPools their informer of Pods serves both
    ["apps/agent/src/features/networks/feature.ts", ({ ipam, networks: on }) => on && !ipam],
    ["apps/agent/src/features/networks/", ({ networks: on }) => on],
    ["apps/agent/src/features/secondary-networks/", ({ networks: on }) => !on],
    ["apps/agent/src/features/services/", ({ services }) => services],
    ["apps/controller/src/features/node-ipam/", ({ nodeIpam }) => nodeIpam],
    ...[
        "features/allocation-cleaner",
        "features/node-addresses",
        "features/pool-status",
        "features/reservations",
        "platform/allocations",
        "platform/pool-cache",
    ].map((folder) => [`apps/controller/src/${folder}/`, ({ ipam }: Mode) => ipam] as const),
    // the informer of Nodes
    ["apps/controller/src/platform/nodes.ts", ({ nodeIpam, ipam }) => nodeIpam || ipam],
];

/** Library code runs where the program reports or serves something. */
const ofLibrary: Readonly<Record<Daemon, readonly (readonly [where: string, works: Works])[]>> = {
    agent: [],
    controller: [["libs/kube/src/events/", ({ nodeIpam, ipam }) => nodeIpam || ipam]],
    webhook: [],
};

/** Whether a program can send the request in this mode. */
export function sends(daemon: Daemon, { file }: Call, mode: Mode): boolean {
    const found = [...ofLibrary[daemon], ...conditional].find(([where]) => file.startsWith(where));
    return found === undefined || found[1](mode);
}
