import { mkdirSync, writeFileSync } from "node:fs";
import { CniClient, podCall } from "./cni-client.ts";
import { type Gates } from "./controller.ts";
import { Daemon, type Memory } from "./daemon.ts";
import { workPath } from "./paths.ts";

const readyLimitMs = 60_000;

export interface AgentOptions {
    readonly nodeName: string;
    readonly kubeconfig: string;
    readonly ovsRunDir: string;
    readonly featureGates?: Gates;
    /** More of antrea-agent.conf. Without it: noEncap. */
    readonly config?: Readonly<Record<string, unknown>>;
    /** The network namespace that it runs in. Default: ours. */
    readonly netnsPath?: string;
}

/** The bundled agent of one Node as a process, and calls to it. */
export class AgentUnderTest implements AsyncDisposable {
    readonly cniSocket: string;
    readonly cni: CniClient;
    /** When its process was started, on the clock of `performance.now`. */
    readonly startedAt: number;
    readonly #daemon: Daemon;

    constructor(options: AgentOptions) {
        const { nodeName, kubeconfig, ovsRunDir, featureGates = {}, config, netnsPath } = options;
        const confFolder = workPath(`${nodeName}-net.d`);
        mkdirSync(confFolder, { recursive: true });
        this.cniSocket = workPath(`${nodeName}-cni.sock`);
        const configPath = workPath(`${nodeName}-agent.conf`);
        const whole = {
            ovsRunDir,
            cniSocket: this.cniSocket,
            ovsDatapathType: "netdev",
            trafficEncapMode: "noEncap",
            clientConnection: { kubeconfig },
            featureGates,
            ...config,
        };
        writeFileSync(configPath, JSON.stringify(whole)); // YAML is a superset of JSON
        this.startedAt = performance.now();
        this.#daemon = new Daemon({
            app: "agent",
            args: ["--config", configPath],
            env: {
                PATH: process.env.PATH,
                NODE_NAME: nodeName,
                POD_NAMESPACE: "kube-system",
                CNI_CONF_DIR: confFolder,
                ANTREA_STATE_DIR: workPath(`${nodeName}-state`),
            },
            logPath: workPath(`${nodeName}-agent.log`),
            ...(netnsPath === undefined ? {} : { netnsPath }),
        });
        this.cni = new CniClient(this.cniSocket);
    }

    /** Waits until it takes Pods. */
    async ready(): Promise<void> {
        const serves = async (): Promise<boolean> =>
            this.cni.call("CmdStatus", podCall(0, "")).then(
                () => true,
                () => false,
            );
        await this.#daemon.ready(serves, readyLimitMs);
    }

    memory(): Memory {
        return this.#daemon.memory();
    }

    /** SIGKILL; resolves when the process is gone. */
    async kill(): Promise<void> {
        await this.#daemon.kill();
    }

    async [Symbol.asyncDispose](): Promise<void> {
        this.cni[Symbol.dispose]();
        await this.#daemon[Symbol.asyncDispose]();
    }
}
