import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { promisify } from "node:util";
import type { CniCmdArgs } from "@antrea/cni";
import { parseIp } from "@antrea/ip";
import { hostInterfaceName } from "../../src/features/pod-network/names.ts";
import type { KnownPod } from "../../src/features/pod-network/index.ts";
import { TestNetns } from "./namespace.ts";

const run = promisify(execFile);

/** The parts of an ADD's answer that tests look at. */
export interface AddAnswer {
    readonly cniVersion: string;
    readonly interfaces: readonly { readonly name: string; readonly mac?: string; readonly sandbox?: string }[];
    readonly ips: readonly { readonly address: string; readonly gateway: string }[];
    readonly routes: readonly { readonly dst: string; readonly gw: string }[];
}

export interface PingOptions {
    readonly count?: number;
    readonly intervalS?: number;
    /** The source address. */
    readonly from?: string;
    /** Bytes of data in each. */
    readonly size?: number;
}

/** A sandbox as a container runtime makes it: a namespace and a name. */
export class TestPod implements Disposable {
    readonly netns = new TestNetns("pod");
    readonly containerId: string = randomBytes(32).toString("hex");
    readonly uid: string;
    readonly name: string;

    /** @param uid of the Pod; another sandbox of a Pod has the same */
    constructor(name = "web-0", uid: string = randomUUID()) {
        this.name = name;
        this.uid = uid;
    }

    /** The arguments of a CNI call for it. */
    args(config: Readonly<Record<string, unknown>> = {}, changes: Partial<CniCmdArgs> = {}): CniCmdArgs {
        const whole = { cniVersion: "1.1.0", name: "antrea", type: "antrea", ...config };
        return {
            containerId: this.containerId,
            netns: this.netns.path,
            ifname: "eth0",
            args: `K8S_POD_NAMESPACE=default;K8S_POD_NAME=${this.name};K8S_POD_UID=${this.uid}`,
            path: "/opt/cni/bin",
            networkConfiguration: new TextEncoder().encode(JSON.stringify(whole)),
            ...changes,
        };
    }

    get hostIfName(): string {
        return hostInterfaceName(this.name, this.containerId, "eth0");
    }

    /** As the API server would show it, with the addresses of its ADD. */
    known(answer?: AddAnswer, changes: Partial<KnownPod> = {}): KnownPod {
        return {
            uid: this.uid,
            namespace: "default",
            name: this.name,
            hostNetwork: false,
            ended: false,
            hasSandbox: true,
            podIps: (answer === undefined ? [] : ipsOf(answer)).map((ip) => parseIp(ip)),
            ...changes,
        };
    }

    /**
     * Sends pings until `count` are answered or the limit is over, and gives how many were: for one that is lost, it sends
     * another. The limit is 30 s; where nothing may answer, give a short one.
     */
    async ping(ip: string, options: PingOptions & { readonly limitS?: number } = {}): Promise<number> {
        const { limitS = 30, ...rest } = options;
        const stdout = await this.#ping(ip, rest, ["-q", "-w", String(limitS)]);
        return Number(/(\d+) received/.exec(stdout)?.[1] ?? 0);
    }

    /**
     * Sends pings and gives how many of the first `count` were answered, however long the answers took: a lost one is
     * missing. It goes on for 3 s after those, because ping(8) does not wait for its last answers.
     */
    async answered(ip: string, options: PingOptions): Promise<number> {
        const { count = 1, intervalS = 0.2 } = options;
        const stdout = await this.#ping(ip, { ...options, count: count + Math.ceil(3 / intervalS) }, []);
        const numbers = [...stdout.matchAll(/^\d+ bytes from \S+ icmp_seq=(\d+) /gm)].map(([, number]) =>
            Number(number),
        );
        return new Set(numbers.filter((number) => number <= count)).size;
    }

    async #ping(ip: string, options: PingOptions, more: readonly string[]): Promise<string> {
        const { count = 1, intervalS = 0.2, from, size = 56 } = options;
        const words = ["-n", "-c", String(count), "-i", String(intervalS), "-s", String(size), ...more];
        const source = from === undefined ? [] : ["-I", from];
        const args = ["netns", "exec", this.netns.name, "ping", ...words, ...source, ip];
        return run("ip", args).then(
            ({ stdout }) => stdout,
            (error: unknown) => String((error as { readonly stdout?: string }).stdout),
        );
    }

    [Symbol.dispose](): void {
        this.netns[Symbol.dispose]();
    }
}

/** The addresses of an answer, without their prefix lengths. */
export function ipsOf(answer: AddAnswer): readonly string[] {
    return answer.ips.map(({ address }) => address.slice(0, address.indexOf("/")));
}
