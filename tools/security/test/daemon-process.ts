import { spawn, type ChildProcess } from "node:child_process";
import { request } from "node:https";
import { root, type Daemon } from "../programs.ts";

/** A program of ours as a process of its own, run from the sources, with its whole output. */
export class DaemonProcess implements AsyncDisposable {
    readonly #child: ChildProcess;
    readonly #ended: Promise<number | null>;
    #output = "";

    constructor(daemon: Daemon, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
        const main = `${root}/apps/${daemon}/src/main.ts`;
        const command = ["--pdeathsig", "KILL", process.execPath, "--no-warnings", main, ...args];
        this.#child = spawn("setpriv", command, {
            env: { PATH: process.env.PATH, POD_NAMESPACE: "kube-system", POD_NAME: `antrea-${daemon}-1`, ...env },
            stdio: ["ignore", "pipe", "pipe"],
        });
        const keep = (chunk: Buffer): void => void (this.#output += chunk.toString());
        this.#child.stdout?.on("data", keep);
        this.#child.stderr?.on("data", keep);
        this.#ended = new Promise((resolve) => this.#child.once("exit", (code) => resolve(code)));
    }

    get output(): string {
        return this.#output;
    }

    /** SIGTERM; resolves with the exit code. */
    async stop(): Promise<number | null> {
        this.#child.kill("SIGTERM");
        return this.#ended;
    }

    /** The exit code. */
    async ended(): Promise<number | null> {
        return this.#ended;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        this.#child.kill("SIGKILL");
        await this.#ended;
    }
}

/** GET on 127.0.0.1 over HTTPS, whatever the certificate; status 0 while nothing answers. */
export async function getLocal(
    port: number,
    path: string,
    token?: string,
): Promise<{ readonly status: number; readonly text: string }> {
    const { promise, resolve } = Promise.withResolvers<{ status: number; text: string }>();
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    request({ host: "127.0.0.1", port, path, headers, rejectUnauthorized: false, agent: false }, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    })
        .on("error", (error) => resolve({ status: 0, text: error.message }))
        .end();
    return promise;
}
