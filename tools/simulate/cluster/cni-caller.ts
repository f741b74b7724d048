import { type CniCommand } from "@antrea/agent/features/cni-server";
import { type Counters } from "../check/counters.ts";
import { type Machine } from "../machine/machine.ts";
import { type Netns } from "../machine/netns.ts";
import { type Random } from "../time/random.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { AgentAway, type Agent } from "./agent.ts";

export interface CniCallerComponents {
    readonly machine: Machine;
    readonly agent: () => Agent | undefined;
    readonly time: VirtualTime;
    readonly random: Random;
    readonly counters: Counters;
    readonly step: (what: () => string) => void;
}

/** A network configuration as a runtime passes it. */
export type CniConfig = Readonly<Record<string, unknown>>;

/** The configuration of the Pod network. */
export const podNetwork: CniConfig = { cniVersion: "1.1.0", name: "antrea", type: "antrea" };

export interface CniCall {
    readonly ifName: string;
    readonly config: CniConfig;
}

const ownInterface: CniCall = { ifName: "eth0", config: podNetwork };
const encoder = new TextEncoder();

/** The CNI binary of a Node, as runtimes and meta plugins call it. */
export class CniCaller {
    readonly #components: CniCallerComponents;

    constructor(components: CniCallerComponents) {
        this.#components = components;
    }

    /** Calls for an interface, by default the Pod's own. Rejects with AgentAway, or as the agent answers. */
    async call(
        command: Exclude<CniCommand, "gc" | "status">,
        netns: Netns,
        { ifName, config }: CniCall = ownInterface,
        cancelled?: AbortSignal,
    ): Promise<Uint8Array> {
        const { time, random, agent, step, machine, counters } = this.#components;
        const { path, container } = netns;
        await time.sleep(random.latency(1, 30));
        const current = agent();
        counters.count(`cni.${command}`);
        const which = ifName === "eth0" ? container.id : `${container.id}/${ifName}`;
        step(
            () => `kubelet ${machine.name}: ${command} ${which} of Pod ${container.podNamespace}/${container.podName}`,
        );
        // What other plugins have made counts as in use until then: the agent sees the container by its own interface.
        if (command === "del" && ifName === "eth0") this.end(netns);
        // Without a configuration of antrea the runtime calls nobody.
        if (current === undefined || (command === "add" && !machine.files.has("10-antrea.conflist")))
            throw new AgentAway();
        const args = [
            "IgnoreUnknown=1",
            `K8S_POD_NAMESPACE=${container.podNamespace}`,
            `K8S_POD_NAME=${container.podName}`,
            `K8S_POD_UID=${container.podUid}`,
        ].join(";");
        const call = {
            containerId: container.id,
            netns: path,
            ifname: ifName,
            args,
            path: "/opt/cni/bin",
            networkConfiguration: encoder.encode(JSON.stringify(config)),
        };
        return current.call(command, call, cancelled ?? new AbortController().signal);
    }

    /** An interface that another plugin made is removed, or all of the container. */
    end(netns: Netns, ifName?: string): void {
        if (ifName === undefined) netns.ofOthers.clear();
        else netns.ofOthers.delete(ifName);
        this.#components.machine.networksChanged(netns);
    }

    /** GC of a network with these attachments. */
    async collect(
        config: CniConfig,
        valid: readonly { readonly container: string; readonly ifName: string }[],
    ): Promise<void> {
        const attachments = valid.map(({ container, ifName }) => ({ containerID: container, ifname: ifName }));
        const networkConfiguration = encoder.encode(
            JSON.stringify({ ...config, cniVersion: "1.1.0", "cni.dev/valid-attachments": attachments }),
        );
        const args = { containerId: "", netns: "", ifname: "", args: "", path: "/opt/cni/bin" };
        const agent = this.#components.agent();
        this.#components.counters.count("cni.gc");
        await agent?.call("gc", { ...args, networkConfiguration }, new AbortController().signal).catch(() => undefined);
    }
}
