import { fromNetworkAlias, toNetworkAlias } from "@antrea/agent/platform/pod-interfaces";
import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { type Pod } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Agent } from "../cluster/agent.ts";
import { freeAll, periodically } from "./cleaners.ts";
import { type SeededBug } from "./seeded-bug.ts";

const podKind = kindOf("v1", "pods");

/** Bugs about interfaces on other networks than the Pod network, of this project or of other plugins. */
export const ofNetworks: Readonly<Record<string, SeededBug>> = {
    "cleaner-frees-what-has-no-record": {
        source: "antrea: stale clean-up of secondary interfaces, by reading its code",
        what: "every 5 s an agent releases the allocations of interfaces that it did not make itself, as those of Multus",
        hooks: {
            agent: (agent, cluster, { machine, agentTransport }) => {
                periodically(cluster, 5_000, () => {
                    if (agent.isKilled || !machine.isOn) return;
                    for (const { metadata, spec } of agent.pools.own.list()) {
                        const { containerID = "", interface: ifName = "", network } = spec.pod ?? {};
                        if (network === undefined || machine.setUpOf(containerID, ifName) !== undefined) continue;
                        const ref = { name: metadata?.name ?? "" };
                        void agentTransport?.api.delete(ipAllocations, ref).catch(() => undefined);
                    }
                });
            },
        },
    },
    "interface-cleaner-knows-pods-by-name": {
        source: "https://github.com/k8snetworkplumbingwg/whereabouts/issues/176",
        what: "one second after a Pod is deleted all allocations of its name on other networks are released, also those of a new Pod of that name",
        hooks: {
            cluster: (cluster) => {
                cluster.server.store.onChange(({ kind, before, after }) => {
                    if (kind !== podKind || after !== undefined) return;
                    const { namespace, name } = (before?.object as Pod | undefined)?.metadata ?? {};
                    const isOf = ({ spec: { pod } }: IpAllocation): boolean =>
                        pod?.network !== undefined && pod.namespace === namespace && pod.name === name;
                    cluster.time.after(1_000, () => freeAll(cluster, isOf));
                });
            },
        },
    },
    "gc-keeps-exactly-what-is-listed": {
        source: "found in this project",
        what: "GC of the Pod network releases all allocations whose interface is not in its list, which names eth0 only",
        hooks: {
            agent: (agent, _cluster, { agentTransport }) => {
                const call = agent.call.bind(agent);
                agent.call = async (command, args, cancelled) => {
                    const answer = await call(command, args, cancelled);
                    if (command !== "gc") return answer;
                    const config = JSON.parse(new TextDecoder().decode(args.networkConfiguration)) as GcConfig;
                    if (config.name !== "antrea") return answer;
                    const listed = new Set(
                        config["cni.dev/valid-attachments"].map((one) => `${one.containerID}/${one.ifname}`),
                    );
                    for (const { metadata, spec } of agent.pools.own.list()) {
                        if (listed.has(`${spec.pod?.containerID}/${spec.pod?.interface}`)) continue;
                        const ref = { name: metadata?.name ?? "" };
                        await agentTransport?.api.delete(ipAllocations, ref).catch(() => undefined);
                    }
                    return answer;
                };
            },
        },
    },
    "link-names-no-addresses": {
        source: "found in this project",
        what: "the alias of the link of a VLAN interface names no addresses, so that they are lost with the database of OVS",
        hooks: {
            agent: (_agent, _cluster, { machine }) => {
                for (const [name, link] of [...machine.links]) {
                    const record = fromNetworkAlias(link.alias);
                    if (record === undefined) continue;
                    const unused = { podNamespace: "", podName: "", network: "", netns: "", hostIfName: name };
                    const alias = toNetworkAlias({ ...record, ...unused, addresses: [] });
                    machine.links.set(name, { ...link, alias });
                }
            },
        },
    },
    "half-of-an-interface-stays": {
        source: "https://github.com/antrea-io/antrea/issues/5623",
        what: "of an interface with addresses of several IPPools only the first is released at its end",
        hooks: { agent: (agent) => keepOthers(agent) },
    },
};

interface GcConfig {
    readonly name: string;
    readonly "cni.dev/valid-attachments": readonly { readonly containerID: string; readonly ifname: string }[];
}

/** The agent finds one allocation of each interface on another network, both at DEL and in its search for leaks. */
function keepOthers({ pools: { own } }: Agent): void {
    const list = own.list.bind(own);
    const ofContainer = own.ofContainer.bind(own);
    own.list = () => firstOfEach(list());
    own.ofContainer = (attachment) => firstOfEach(ofContainer(attachment));
}

function firstOfEach(all: readonly IpAllocation[]): readonly IpAllocation[] {
    const seen = new Set<string>();
    return all.filter(({ spec: { pod } }) => {
        const key = `${pod?.uid}/${pod?.interface}`;
        const isFirst = pod?.network === undefined || !seen.has(key);
        seen.add(key);
        return isFirst;
    });
}
