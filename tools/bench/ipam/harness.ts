import { type CniCommand } from "@antrea/cni";
import { podCall } from "../cni-client.ts";
import { BenchError } from "../error.ts";
import { execPlugin, pluginEnvironment, type PluginAnswer } from "../plugin.ts";
import { AddressIndex } from "./address-index.ts";
import { type IpamSubject } from "./subject.ts";

/** The result of an ADD. */
export type Outcome =
    | { readonly kind: "given"; readonly container: number; readonly ms: number; readonly addresses: readonly string[] }
    | { readonly kind: "refused"; readonly ms: number; readonly refusal: Refusal };

/** The error object of CNI. */
export interface Refusal {
    readonly code: number;
    readonly msg: string;
}

interface Container {
    readonly place: number;
}

/**
 * Calls an IPAM plugin as a main plugin does: one process per call, by the protocol of CNI 1.1. Tracks the assigned
 * addresses.
 */
export class IpamHarness {
    readonly subject: IpamSubject;
    readonly addresses: AddressIndex = new AddressIndex();
    readonly #places: number[];
    readonly #live = new Map<number, Container>();
    #next: number;
    #refused = 0;

    /** Containers are numbered from `first`, so that harnesses use different ones. */
    constructor(subject: IpamSubject, first: number) {
        this.subject = subject;
        this.#next = first;
        // Taken from the end.
        this.#places = Array.from({ length: subject.capacity + 1 }, (_, place) => subject.capacity - place);
    }

    /** Containers with an address. */
    get live(): readonly number[] {
        return [...this.#live.keys()];
    }

    /** Number of failed ADDs. */
    get refused(): number {
        return this.#refused;
    }

    /** ADD of a new container. */
    async add(): Promise<Outcome> {
        const place = this.#places.pop();
        if (place === undefined) {
            throw new BenchError("BAD_ARGUMENT", "internal", "more ADDs at once than the subject has places");
        }
        const container = this.#next++;
        const answer = await this.#call("ADD", container, place);
        if (answer.code !== 0) {
            this.#places.push(place);
            this.#refused += 1;
            return { kind: "refused", ms: answer.ms, refusal: refusalOf(answer.output) };
        }
        const addresses = addressesOf(answer.output);
        this.#live.set(container, { place });
        this.addresses.given(container, addresses);
        return { kind: "given", container, ms: answer.ms, addresses };
    }

    /** DEL of a container; returns the milliseconds. */
    async delete(container: number): Promise<number> {
        const { place } = this.#live.get(container) ?? { place: -1 };
        this.#live.delete(container);
        this.addresses.ended(container);
        const { code, ms, output } = await this.#call("DEL", container, place);
        if (code !== 0) throw new BenchError("CALL_FAILED", "environment", `DEL of ${this.subject.id}: ${output}`);
        if (place >= 0) this.#places.push(place);
        return ms;
    }

    /** All containers vanish without a DEL. */
    vanish(): void {
        for (const [container, { place }] of this.#live) {
            this.addresses.ended(container);
            this.#places.push(place);
        }
        this.#live.clear();
    }

    /** GC with the live containers as valid attachments. */
    async collectGarbage(): Promise<PluginAnswer> {
        const attachments = this.live.map((container) => {
            const { containerId, ifname } = podCall(container, "");
            return { containerID: containerId, ifname };
        });
        return this.#run("GC", podCall(0, ""), { "cni.dev/valid-attachments": attachments });
    }

    /** VERSION: a process that does nothing. */
    async version(): Promise<PluginAnswer> {
        return this.#run("VERSION", podCall(0, ""), {});
    }

    #call(command: "ADD" | "DEL", container: number, place: number): Promise<PluginAnswer> {
        return this.#run(command, podCall(container, place < 0 ? "" : this.subject.netnsOf(place)), {});
    }

    #run(command: CniCommand, call: ReturnType<typeof podCall>, more: object): Promise<PluginAnswer> {
        const { program, environment, config } = this.subject;
        const env = { ...pluginEnvironment(command, call), ...environment };
        return execPlugin(program, env, JSON.stringify({ ...config, ...more }));
    }
}

/** The addresses of a result, with their prefix lengths. */
export function addressesOf(result: string): readonly string[] {
    const { ips = [] } = JSON.parse(result) as { readonly ips?: readonly { readonly address: string }[] };
    if (ips.length > 0) return ips.map(({ address }) => address);
    throw new BenchError("WRONG_RESULT", "remote", `the result of an ADD has no address: ${result}`);
}

/** The error object in a plugin's output; code 0 if there is none. */
export function refusalOf(output: string): Refusal {
    try {
        const { code, msg } = JSON.parse(output) as Partial<Refusal>;
        return { code: code ?? 0, msg: msg ?? output };
    } catch {
        return { code: 0, msg: output };
    }
}
