import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { formatFlow, type Flow, type Meter } from "@antrea/openflow";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { PrivateOvs } from "@antrea/openflow/testing";
import { type ServicePortFlows } from "../src/index.ts";

const ignore = (): void => undefined;

/** A private Open vSwitch with one bridge that holds these flows, and a port for each name. */
export class TestSwitch implements AsyncDisposable {
    readonly ovs: PrivateOvs;
    readonly bridge = PrivateOvs.deviceName("br");
    readonly #devices = new Map<string, string>();
    #connection: OpenFlowConnection | undefined;

    private constructor(ovs: PrivateOvs) {
        this.ovs = ovs;
    }

    static async start(flows: readonly Flow[]): Promise<TestSwitch> {
        const testSwitch = new TestSwitch(await PrivateOvs.start());
        await testSwitch.ovs.addBridge(testSwitch.bridge);
        // as the agent does on the userspace datapath
        await testSwitch.ovs.appctl("dpctl/ct-disable-tcp-seq-chk");
        await testSwitch.addFlows(flows);
        return testSwitch;
    }

    /** A port of this OpenFlow number; gives the name of its device. An existing device can be taken over. */
    async addPort(name: string, ofport: number, existing?: string): Promise<string> {
        const device = existing ?? PrivateOvs.deviceName(name);
        this.#devices.set(device, name);
        await this.ovs.addPort(this.bridge, device, { ofport, type: existing === undefined ? "internal" : "" });
        return device;
    }

    /** All in one bundle, from the text form: this shows that OVS reads what `formatFlow` writes. */
    async addFlows(flows: readonly Flow[]): Promise<void> {
        const file = join(this.ovs.runDir, "flows.txt");
        await writeFile(file, flows.map((flow) => `${formatFlow(flow)}\n`).join(""));
        await this.ovs.ofctl("--bundle", "add-flows", this.bridge, file);
    }

    /** Groups before flows, in one bundle, by OpenFlow. */
    async serve(ports: readonly ServicePortFlows[]): Promise<void> {
        const connection = this.#connect();
        await connection.bundle([
            ...ports.flatMap(({ groups }) => groups.map((group) => ({ command: "add_or_modify" as const, group }))),
            ...ports.flatMap(({ flows }) => flows.flows.map((flow) => ({ command: "add" as const, flow }))),
        ]);
    }

    /** Sends frames in by a port, from the first table on; resolves when the datapath has processed them. */
    async receive(frames: Iterable<Uint8Array>, inPort: number): Promise<void> {
        const connection = this.#connect();
        let count = 0;
        for (const data of frames) {
            connection.packetOut({ inPort, actions: [{ type: "resubmit", table: 0 }], data });
            count += 1;
            if (count % 500 === 0) await connection.barrier();
        }
        await connection.barrier();
    }

    #connect(): OpenFlowConnection {
        if (this.#connection !== undefined) return this.#connection;
        const logger = { debug: ignore, info: ignore, warn: ignore };
        this.#connection = new OpenFlowConnection({ logger }, { socketPath: this.ovs.mgmtSocket(this.bridge) });
        this.#connection.start(new AbortController().signal);
        return this.#connection;
    }

    async addMeter(meter: Meter): Promise<void> {
        await this.#connect().changeMeter({ command: "add", meter });
    }

    /** What becomes of a packet; `ctStates` are the connection tracking states of each pass, for example "trk,new". */
    async trace(packet: string, ctStates: readonly string[] = []): Promise<Trace> {
        const next = ctStates.flatMap((state) => ["--ct-next", state]);
        const text = await this.ovs.ask("ofproto/trace", "--names", this.bridge, packet, ...next);
        const passes = [...text.matchAll(/^Datapath actions: (.*)$/gm)].map((found) => found[1] ?? "");
        const actions = passes.at(-1) ?? "";
        const outputs = withoutParentheses(actions)
            .split(",")
            .flatMap((item) => this.#devices.get(item) ?? []);
        return { outputs, frames: this.#frames(packet, passes), actions, text };
    }

    /** Follows the tag through the actions of all passes. */
    #frames(packet: string, passes: readonly string[]): string[] {
        let tag = /dl_vlan=(\d+)/.exec(packet)?.[1];
        const frames: string[] = [];
        for (const item of passes.join(",").matchAll(/push_vlan\(vid=(\d+)[^)]*\)|pop_vlan|[\w-]+(?=,|$)/g)) {
            const device = this.#devices.get(item[0]);
            if (device !== undefined) frames.push(tag === undefined ? device : `${device}@${tag}`);
            else if (item[0] === "pop_vlan") tag = undefined;
            else tag = item[1] ?? tag;
        }
        return frames;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#connection?.close();
        await this.ovs[Symbol.asyncDispose]();
    }
}

export interface Trace {
    /** Names of the ports that the packet leaves by, as given to `addPort`. */
    readonly outputs: readonly string[];
    /** The same with the VLAN of each frame: "name" without a tag, "name@2". */
    readonly frames: readonly string[];
    /** Datapath actions of the last pass. */
    readonly actions: string;
    readonly text: string;
}

function withoutParentheses(text: string): string {
    const inner = text.replace(/\([^()]*\)/g, "");
    return inner === text ? text : withoutParentheses(inner);
}
