import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
    nodeTables,
    Pipeline,
    rejectMeter,
    servicePortFlows,
    serviceTables,
    type ServicePortFlows,
} from "@antrea/flows";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { PrivateOvs } from "@antrea/openflow/testing";
import { type ServedService } from "@antrea/services";

const execute = promisify(execFile);
const ignore = (): void => undefined;
const bridge = "br-int";

/** The Open vSwitch of a Node: a real one with the bridge br-int, in a network namespace of its own. */
export class ServiceNode implements AsyncDisposable {
    readonly #ovs: PrivateOvs;
    readonly #connection: OpenFlowConnection;
    #ports = 0;

    private constructor(ovs: PrivateOvs) {
        this.#ovs = ovs;
        const logger = { debug: ignore, info: ignore, warn: ignore };
        this.#connection = new OpenFlowConnection({ logger }, { socketPath: ovs.mgmtSocket(bridge) });
        this.#connection.start(new AbortController().signal);
    }

    static async start(): Promise<ServiceNode> {
        const ovs = await PrivateOvs.start({ network: "own" });
        await ovs.addBridge(bridge);
        const node = new ServiceNode(ovs);
        await node.#connection.changeMeter({ command: "add", meter: rejectMeter });
        return node;
    }

    /** What a container beside it has in its environment. */
    get env(): NodeJS.ProcessEnv {
        return this.#ovs.env;
    }

    /** Adds the flows and groups of a Service, as an agent does. */
    async serve({ uid, affinitySeconds, ports }: ServedService, proxyAll: boolean): Promise<void> {
        const keepsFragments = true;
        const next = new Pipeline([...nodeTables, ...serviceTables({ bridging: false, proxyAll, keepsFragments })]);
        const made = ports.map((port): ServicePortFlows => {
            this.#ports += 1;
            const number = this.#ports;
            return servicePortFlows(next, {
                uid,
                port,
                affinitySeconds,
                number,
                groupIds: { cluster: 2 * number, local: 2 * number + 1 },
                salt: 0n,
                bridging: false,
                keepsFragments,
                proxyAll,
                standIns: new Map(),
            });
        });
        await this.#connection.bundle([
            ...made.flatMap(({ groups }) => groups.map((group) => ({ command: "add_or_modify" as const, group }))),
            ...made.flatMap(({ flows }) => flows.flows.map((flow) => ({ command: "add" as const, flow }))),
        ]);
    }

    /** Runs a command as `RunInOvs` does. */
    async run([program = "", ...words]: readonly string[]): Promise<string> {
        return (await execute(program, words, { env: this.env })).stdout;
    }

    /** Deletes all flows and groups. */
    async clear(): Promise<void> {
        await this.#ovs.ofctl("del-flows", bridge);
        await this.#ovs.ofctl("del-groups", bridge);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#connection.close();
        await this.#ovs[Symbol.asyncDispose]();
    }
}
