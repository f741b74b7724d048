import type { ErrorCodeName } from "@antrea/cni";
import { parseIp, type IpAddress } from "@antrea/ip";
import { cniErrorCode } from "../../../src/features/cni-server/error-code.ts";
import { poolErrorCode } from "../../../src/features/ip-pools/index.ts";
import { wiringErrorCode } from "../../../src/features/pod-network/index.ts";
import type { CniBackend, AddedInterface } from "../../../src/features/cni-server/index.ts";
import type { Attachment } from "../../../src/platform/pod-interfaces/index.ts";

type AddRequest = Parameters<CniBackend["add"]>[0];
type CheckRequest = Parameters<CniBackend["check"]>[0];

/** Wires nothing, remembers everything: which attachments there are and what was asked. */
export class FakeBackend implements CniBackend {
    readonly wired = new Map<string, AddedInterface>();
    readonly adds: AddRequest[] = [];
    readonly checks: CheckRequest[] = [];
    readonly collects: {
        readonly network: string;
        readonly valid: readonly Attachment[];
        readonly receivedAt: number;
    }[] = [];
    /** Thrown by the next call of that name. */
    failure: { readonly of: "add" | "delete" | "check" | "collect"; readonly error: unknown } | undefined;
    problem: string | undefined;
    readonly #networks = new Map<string, string>();
    #next = 2;

    add(request: AddRequest, signal: AbortSignal): Promise<AddedInterface> {
        this.adds.push(request);
        if (this.failure?.of === "add") return this.#fail();
        if (signal.aborted) return Promise.reject(signal.reason as Error);
        const key = keyOf(request);
        const found = this.wired.get(key) ?? this.#wire(request);
        this.wired.set(key, found);
        this.#networks.set(key, request.network);
        return Promise.resolve(found);
    }

    delete(attachment: Attachment): Promise<void> {
        if (this.failure?.of === "delete") return this.#fail();
        this.wired.delete(keyOf(attachment));
        return Promise.resolve();
    }

    check(request: CheckRequest): Promise<void> {
        this.checks.push(request);
        return this.failure?.of === "check" ? this.#fail() : Promise.resolve();
    }

    collect(network: string, valid: readonly Attachment[], receivedAt: number): Promise<number> {
        this.collects.push({ network, valid, receivedAt });
        if (this.failure?.of === "collect") return this.#fail();
        const keep = new Set(valid.map(keyOf));
        const garbage = [...this.wired.keys()].filter((key) => this.#networks.get(key) === network && !keep.has(key));
        for (const key of garbage) this.wired.delete(key);
        return Promise.resolve(garbage.length);
    }

    notReady(): string | undefined {
        return this.problem;
    }

    ready(signal: AbortSignal): Promise<void> {
        if (this.problem === undefined) return Promise.resolve();
        return new Promise((_, reject) => {
            const end = (): void => reject(new Error("gave up waiting"));
            if (signal.aborted) end();
            signal.addEventListener("abort", end, { once: true });
        });
    }

    errorCode = (error: unknown): ErrorCodeName => cniErrorCode(error, [poolErrorCode, wiringErrorCode]);

    #wire({ ifName, netns }: AddRequest): AddedInterface {
        const host = this.#next++;
        return {
            hostIfName: "web-0-abcdef",
            ifName,
            mac: "0a:58:0a:0a:01:02",
            netns,
            addresses: [
                { ip: parseIp(`10.10.1.${host}`), prefixLength: 24, gateway: parseIp("10.10.1.1") },
                { ip: ipv6(host), prefixLength: 64, gateway: ipv6(1) },
            ],
        };
    }

    #fail(): Promise<never> {
        const error = this.failure?.error;
        this.failure = undefined;
        return Promise.reject(error as Error);
    }
}

function ipv6(host: number): IpAddress {
    return { family: 6, value: parseIp("fd10:10:0:1::").value + BigInt(host) };
}

function keyOf({ containerId, ifName }: Attachment): string {
    return `${containerId} ${ifName}`;
}
