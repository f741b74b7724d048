import { AntreaError, isAborted, messageOf } from "@antrea/errors";
import {
    CniCallError,
    checkCommandVersion,
    encodeResult,
    parseNetworkConfig,
    type CniCmdArgs,
    type CniResult,
    type ErrorCodeName,
    type NetworkConfig,
} from "@antrea/cni";
import { formatIp } from "@antrea/ip";
import type { Logger } from "@antrea/runtime";
import { noPools, type AddressBackend } from "./address-calls.ts";
import { attachmentOf, checkArgs, podAttachmentOf, podIfAny, podOf, previousOf } from "./call-args.ts";
import type { CheckRequest } from "./check-request.ts";
import { addressCalls, networkCalls, type DecodedCall, type InterfaceCalls } from "./interface-calls.ts";
import { noNetworks, type NetworkBackend } from "./network-calls.ts";
import type { RefusedPart } from "./refused-adds.ts";
import { purposeOf } from "./served-config.ts";
import { StatusLog } from "./status-log.ts";
import type {
    AddRequest,
    Attachment,
    InterfaceAddress,
    PodAttachment,
    PodRecord,
} from "../../platform/pod-interfaces/index.ts";

/** The properties of the interface in the result of an ADD; `netns` is the path that the runtime passed. */
export interface AddedInterface extends Pick<PodRecord, "hostIfName" | "ifName" | "mac" | "netns"> {
    readonly addresses: readonly InterfaceAddress[];
}

/**
 * The implementation of the CNI calls, see `createCniBackend`. Paths of network namespaces are as the runtime passes
 * them.
 */
export interface CniBackend {
    /**
     * Wires an interface; all or nothing. The Pod's UID is "" if the runtime does not send it. Waits for nothing but
     * the work itself: see `ready`.
     */
    add(request: AddRequest, signal: AbortSignal): Promise<AddedInterface>;
    /** Unwires an interface; succeeds if there is none, and while a dependency is unavailable. */
    delete(attachment: Attachment): Promise<void>;
    /**
     * Rejects with the first difference, or if there is no such interface; `previous` has the addresses of
     * `prevResult`, undefined without one.
     */
    check(request: CheckRequest): Promise<void>;
    /**
     * Removes the interfaces of a network whose containers are not in the list and that are older than the call, which was received at
     * `receivedAt` (monotonic, ms); resolves with their number.
     */
    collect(network: string, valid: readonly Attachment[], receivedAt: number): Promise<number>;
    /** Why ADD cannot succeed now, as part of a sentence; undefined if it can. */
    notReady(): string | undefined;
    /** Resolves when ADD can be served; rejects if the signal aborts first. */
    ready(signal: AbortSignal): Promise<void>;
    /** Gives addresses to interfaces that other plugins make; undefined if there are no IPPools. */
    readonly addresses?: AddressBackend | undefined;
    /** Makes interfaces on other networks; undefined if the agent makes none. */
    readonly networks?: NetworkBackend | undefined;
    /** The CNI error code for an error of `add`, `delete` or `collect`, also of `addresses` and `networks`. */
    errorCode(error: unknown): ErrorCodeName;
}

/** Observes a call: command, outcome (the name of the error code, or "OK") and duration in seconds. Must not throw. */
export type ObserveCall = (command: CniCommand, outcome: string, seconds: number) => void;

/** Dependencies of CniCalls. */
export interface CniCallsComponents {
    readonly backend: CniBackend;
    readonly logger: Logger;
    /** Called once for each call, at its end. */
    readonly observe: ObserveCall;
    /** Called for each ADD of a Pod that its configuration alone refuses; must neither throw nor block. Absent: not needed. */
    readonly refused?: (pod: PodAttachment, error: CniCallError, part: RefusedPart) => void;
    /** Monotonic clock in milliseconds. */
    readonly now: () => number;
}

/** The CNI commands that are served, in lower case. */
export type CniCommand = "add" | "del" | "check" | "gc" | "status";

const cniCommands = { add: "ADD", del: "DEL", check: "CHECK", gc: "GC", status: "STATUS" } as const;

const readyLimitMs = 30_000;
const empty = new Uint8Array();

/**
 * Implements the CNI commands (CNI spec 1.1, section 2), from the arguments of one call to the bytes of its result.
 * Calls may overlap. Failures are logged, those of STATUS as StatusLog does.
 */
export class CniCalls {
    readonly #components: CniCallsComponents;
    readonly #statusLog: StatusLog;

    constructor(components: CniCallsComponents) {
        this.#components = components;
        this.#statusLog = new StatusLog(components);
    }

    /**
     * Serves one call; the result is JSON in UTF-8, empty for commands without a result. Rejects only with
     * CniCallError, which has the CNI error code. An ADD waits up to 30 s until the Node is ready, then fails with
     * `TRY_AGAIN_LATER`; if the signal aborts, an ADD stops and is rolled back.
     */
    async call(command: CniCommand, args: CniCmdArgs, signal: AbortSignal): Promise<Uint8Array> {
        const { now, observe } = this.#components;
        const receivedAt = now();
        try {
            const result = await this.#answer(command, args, receivedAt, signal);
            if (command === "status") this.#statusLog.passed(args.networkConfiguration);
            observe(command, "OK", (now() - receivedAt) / 1000);
            return result;
        } catch (error) {
            const failure = this.#asCallError(command, args, error);
            observe(command, failure.code, (now() - receivedAt) / 1000);
            throw failure;
        }
    }

    async #answer(command: CniCommand, args: CniCmdArgs, receivedAt: number, signal: AbortSignal): Promise<Uint8Array> {
        // DEL must succeed with any prevResult that a runtime has.
        const badPrevResult = command === "del" ? "drop" : "refuse";
        const config = parseNetworkConfig(args.networkConfiguration, { badPrevResult });
        checkCommandVersion(cniCommands[command], config.cniVersion);
        const purpose = purposeOf(config);
        const asked = { args, config, receivedAt };
        const { addresses, networks } = this.#components.backend;
        if (purpose.kind === "addresses") {
            if (addresses !== undefined)
                return this.#answerInterface(addressCalls(addresses, asked), command, asked, signal);
            if (command !== "del" && command !== "gc")
                throw this.#refused(command, args, noPools(config.name), "addresses");
        }
        if (purpose.kind === "network") {
            if (networks !== undefined)
                return this.#answerInterface(networkCalls(networks, asked), command, asked, signal);
            if (command !== "del" && command !== "gc")
                throw this.#refused(command, args, noNetworks(config.name, purpose.networkType), "interface");
        }
        const isServed = purpose.kind === "pod-network";
        // DEL deletes whatever exists; for GC such a network has no interfaces here.
        if (!isServed && command === "gc") return empty;
        if (purpose.kind === "unserved" && command !== "del")
            throw this.#refused(command, args, purpose.error, "interface");
        switch (command) {
            case "add":
                return encodeResult(await this.#add(args, config, receivedAt, signal), config.cniVersion);
            case "del":
                await this.#components.backend.delete(attachmentOf(args));
                return empty;
            case "check":
                await this.#check(args, config);
                return empty;
            case "gc":
                await this.#collect(config, (...asked) => this.#components.backend.collect(...asked), receivedAt);
                return empty;
            case "status":
                this.#status();
                return empty;
        }
    }

    /** The error, which is reported if it is that of a Pod's ADD. */
    #refused(command: CniCommand, args: CniCmdArgs, error: CniCallError, part: RefusedPart): CniCallError {
        const pod = command === "add" ? podIfAny(args) : undefined;
        if (pod !== undefined) this.#components.refused?.(pod, error, part);
        return error;
    }

    /** A call for one interface apart from that on the Pod network. */
    async #answerInterface(
        calls: InterfaceCalls,
        command: CniCommand,
        { args, config, receivedAt }: DecodedCall,
        signal: AbortSignal,
    ): Promise<Uint8Array> {
        switch (command) {
            case "add": {
                checkArgs(args);
                const add = calls.add();
                await this.#ready(signal);
                return encodeResult(await add(signal), config.cniVersion);
            }
            case "del":
                await calls.delete(attachmentOf(args));
                return empty;
            case "check":
                checkArgs(args);
                await calls.check();
                return empty;
            case "gc":
                await this.#collect(config, (...asked) => calls.collect(...asked), receivedAt);
                return empty;
            case "status":
                this.#status();
                return empty;
        }
    }

    async #add(args: CniCmdArgs, config: NetworkConfig, receivedAt: number, signal: AbortSignal): Promise<CniResult> {
        checkArgs(args);
        const pod = podAttachmentOf(args);
        await this.#ready(signal);
        const request = { ...pod, netns: args.netns, network: config.name, receivedAt };
        return resultOf(await this.#components.backend.add(request, signal), config);
    }

    /** Waits until ADD can be served. */
    async #ready(signal: AbortSignal): Promise<void> {
        const { backend } = this.#components;
        try {
            await backend.ready(AbortSignal.any([signal, AbortSignal.timeout(readyLimitMs)]));
        } catch (cause) {
            throw new CniCallError(
                "TRY_AGAIN_LATER",
                "timeout",
                `the network of this Node is not ready after ${readyLimitMs / 1000} s: ${backend.notReady() ?? "it just became ready"}; see the log of antrea-agent`,
                { cause },
            );
        }
    }

    async #check(args: CniCmdArgs, config: NetworkConfig): Promise<void> {
        checkArgs(args);
        const previous = previousOf(config);
        await this.#components.backend.check({ ...attachmentOf(args), netns: args.netns, previous });
    }

    async #collect(
        config: NetworkConfig,
        collect: (network: string, valid: readonly Attachment[], receivedAt: number) => Promise<number>,
        receivedAt: number,
    ): Promise<void> {
        const valid = config.validAttachments;
        if (valid === undefined) {
            throw new CniCallError(
                "INVALID_NETWORK_CONFIG",
                "caller",
                'GC needs "cni.dev/valid-attachments" in the network configuration (CNI spec 1.1, GC); without it everything would count as garbage',
            );
        }
        const removed = await collect(
            config.name,
            valid.map((one) => ({ containerId: one.containerId, ifName: one.ifname })),
            receivedAt,
        );
        this.#components.logger.info("GC done", { network: config.name, valid: valid.length, removed });
    }

    #status(): void {
        const missing = this.#components.backend.notReady();
        if (missing !== undefined) {
            throw new CniCallError(
                "PLUGIN_NOT_AVAILABLE",
                "environment",
                `the network of this Node is not ready: ${missing}`,
            );
        }
    }

    #asCallError(command: CniCommand, args: CniCmdArgs, error: unknown): CniCallError {
        const fields = { command, ...podOf(args), container: args.containerId, error };
        if (isAborted(error)) this.#components.logger.info("CNI call cancelled by the caller", fields);
        else if (command === "status") this.#statusLog.failed(args.networkConfiguration, messageOf(error), fields);
        else this.#components.logger.warn("CNI call failed", fields);
        if (error instanceof CniCallError) return error;
        const fault = error instanceof AntreaError ? error.fault : "internal";
        const code = command === "check" ? "CHECK_INTERFACE_FAILURE" : this.#components.backend.errorCode(error);
        return new CniCallError(code, fault, messageOf(error), { details: { cause: error } });
    }
}

function resultOf(wired: AddedInterface, config: NetworkConfig): CniResult {
    return {
        interfaces: [{ name: wired.hostIfName }, { name: wired.ifName, mac: wired.mac, sandbox: wired.netns }],
        ips: wired.addresses.map(({ ip, prefixLength, gateway }) => ({
            address: `${formatIp(ip)}/${prefixLength}`,
            gateway: formatIp(gateway),
            interface: 1,
        })),
        routes: wired.addresses.map(({ gateway }) => ({
            dst: gateway.family === 4 ? "0.0.0.0/0" : "::/0",
            gw: formatIp(gateway),
        })),
        dns: config.dns ?? {},
    };
}
