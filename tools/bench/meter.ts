import { readdirSync, readFileSync } from "node:fs";
import { get } from "node:https";
import { ipAllocations } from "@antrea/crd";
import { type KubeClients } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { BenchError } from "./error.ts";

/** The cost at an API server and its etcd. */
export interface Cost {
    /** Processor time of kube-apiserver in milliseconds, all threads, user and system. */
    readonly cpuMs: number;
    /** Bytes that etcd wrote to its log. */
    readonly etcdBytes: number;
    /** Bytes of all watch events, as the API server encoded them. */
    readonly watchedBytes: number;
    /** Lists of allocations that the API server answered. */
    readonly allocationLists: number;
}

/** The cost since the start of the programs. */
export interface Reading extends Cost {
    /** Processor time after the reading, which itself takes some; `cpuMs` is the value before. */
    readonly cpuMsAfter: number;
}

/** Milliseconds of a tick of `cpuTicks`: USER_HZ, which Linux fixes at 100 for user space. */
export const tickMs = 10;

/** Reads the cost at a test API server. */
export class ApiServerMeter {
    readonly #url: string;
    readonly #clients: KubeClients;
    readonly #pid: number;
    readonly #etcdUrl: string;

    constructor(server: TestApiServer) {
        const { pid, args } = processOf(new URL(server.url).port);
        this.#url = server.url;
        this.#clients = server.clients();
        this.#pid = pid;
        this.#etcdUrl = /^--etcd-servers=(.*)$/m.exec(args.join("\n"))?.[1] ?? "";
    }

    async read(): Promise<Reading> {
        const cpuMs = this.#cpuMs();
        const [own, etcd] = await Promise.all([this.#metrics(), etcdMetrics(this.#etcdUrl)]);
        return {
            cpuMs,
            cpuMsAfter: this.#cpuMs(),
            etcdBytes: metricSum(etcd, "etcd_disk_wal_write_bytes_total"),
            watchedBytes: metricSum(own, "apiserver_watch_events_sizes_sum"),
            allocationLists: metricSum(own, "apiserver_request_total", [
                `resource="${ipAllocations.plural}"`,
                `verb="LIST"`,
            ]),
        };
    }

    #cpuMs(): number {
        return cpuTicks(readFileSync(`/proc/${this.#pid}/stat`, "utf8")) * tickMs;
    }

    async #metrics(): Promise<string> {
        const { agent, headers } = await this.#clients.connection();
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        get(new URL("/metrics", this.#url), { agent, headers }, (response) => {
            const chunks: Buffer[] = [];
            response.on("data", (chunk: Buffer) => chunks.push(chunk));
            response.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
            response.on("error", reject);
        }).on("error", reject);
        return promise;
    }
}

/** The cost between two readings. */
export function spent(before: Reading, after: Reading): Cost {
    return {
        cpuMs: after.cpuMs - before.cpuMsAfter,
        etcdBytes: after.etcdBytes - before.etcdBytes,
        watchedBytes: after.watchedBytes - before.watchedBytes,
        allocationLists: after.allocationLists - before.allocationLists,
    };
}

/** The sum of all samples of a metric in the Prometheus text format, or of those with these labels (`a="b"`). */
export function metricSum(text: string, name: string, labels: readonly string[] = []): number {
    return text
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
        .filter((line) => labels.every((label) => line.includes(label)))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

/** User and system time of a process in ticks, from the text of /proc/PID/stat. */
export function cpuTicks(stat: string): number {
    // The second field, the name, is in parentheses and may contain spaces; utime and stime are fields 14 and 15.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[11]) + Number(fields[12]);
}

/** That of the children too that it has waited for. */
export function cpuTicksWithChildren(stat: string): number {
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return cpuTicks(stat) + Number(fields[13]) + Number(fields[14]);
}

async function etcdMetrics(url: string): Promise<string> {
    const response = await fetch(`${url}/metrics`);
    return response.text();
}

function processOf(port: string): { readonly pid: number; readonly args: readonly string[] } {
    for (const entry of readdirSync("/proc")) {
        if (!/^\d+$/.test(entry)) continue;
        const args = argumentsOf(entry);
        if (args.includes(`--secure-port=${port}`)) return { pid: Number(entry), args };
    }
    throw new BenchError("NOT_READY", "environment", `no kube-apiserver serves port ${port} in this process namespace`);
}

function argumentsOf(pid: string): readonly string[] {
    try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    } catch {
        return []; // ended meanwhile
    }
}
