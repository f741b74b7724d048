import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { CniClient, podCall } from "./cni-client.ts";
import { type Gates } from "./controller.ts";
import { Daemon, type Memory } from "./daemon.ts";
import { BenchError } from "./error.ts";
import { commandOf, workPath } from "./paths.ts";

const readyLimitMs = 60_000;

export interface AgentOptions {
    readonly nodeName: string;
    readonly kubeconfig: string;
    readonly ovsRunDir: string;
    readonly featureGates?: Gates;
    /** Additional settings of antrea-agent.conf. Default: noEncap only. */
    readonly config?: Readonly<Record<string, unknown>>;
    /** The network namespace of the process. Default: the current one. */
    readonly netnsPath?: string;
}

/** The bundled agent of one Node as a process, with a CNI client. */
export class AgentUnderTest implements AsyncDisposable {
    readonly cniSocket: string;
    readonly cni: CniClient;
    /** The folder of CNI configurations that it writes its own to. */
    readonly confFolder: string;
    /** Start time of its process, by `performance.now`. */
    readonly startedAt: number;
    readonly #daemon: Daemon;
    readonly #logPath: string;

    constructor(options: AgentOptions) {
        const { nodeName, kubeconfig, ovsRunDir, featureGates = {}, config, netnsPath } = options;
        this.confFolder = workPath(`${nodeName}-net.d`);
        mkdirSync(this.confFolder, { recursive: true });
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
        this.#logPath = workPath(`${nodeName}-agent.log`);
        this.#daemon = new Daemon({
            name: "antrea-agent",
            command: commandOf("agent", ["--config", configPath]),
            env: {
                PATH: process.env.PATH,
                NODE_NAME: nodeName,
                POD_NAMESPACE: "kube-system",
                CNI_CONF_DIR: this.confFolder,
                ANTREA_STATE_DIR: workPath(`${nodeName}-state`),
            },
            logPath: this.#logPath,
            ...(netnsPath === undefined ? {} : { netnsPath }),
        });
        this.cni = new CniClient(this.cniSocket);
    }

    /** Waits until it accepts CNI requests. */
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

    /** Processor time since its start in milliseconds. */
    cpuMs(): number {
        return this.#daemon.cpuMs();
    }

    /** That of the programs too that it has run. */
    cpuMsWithChildren(): number {
        return this.#daemon.cpuMsWithChildren();
    }

    /** The fields of the last line with this message in its log. Throws BenchError `WRONG_RESULT` if there is none. */
    lastLogged(message: string): Readonly<Record<string, unknown>> {
        const lines = readFileSync(this.#logPath, "utf8").split("\n");
        const line = lines.findLast((text) => text.includes(`"msg":"${message}"`));
        if (line !== undefined) return JSON.parse(line) as Readonly<Record<string, unknown>>;
        throw new BenchError("WRONG_RESULT", "internal", `the agent has not logged "${message}"; see ${this.#logPath}`);
    }

    /** SIGKILL; resolves when the process has ended. */
    async kill(): Promise<void> {
        await this.#daemon.kill();
    }

    async [Symbol.asyncDispose](): Promise<void> {
        this.cni[Symbol.dispose]();
        await this.#daemon[Symbol.asyncDispose]();
    }
}
