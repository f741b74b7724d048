import { release } from "node:os";
import { Backoff, sleep, systemClock, type Clock } from "@antrea/async";
import { isErrorOf, messageOf } from "@antrea/errors";
import { type Logger } from "@antrea/runtime";
import type { Readiness } from "../../readiness.ts";
import type { Datapath } from "./datapath.ts";
import { DatapathError, UnixctlError } from "./errors.ts";
import { missingFeatures, parseFeatures } from "./features.ts";
import type { Unixctl } from "./unixctl.ts";

/** Dependencies of DatapathProbe; `control` is the client of ovs-vswitchd's control socket. */
export interface DatapathProbeComponents {
    readonly control: Pick<Unixctl, "request">;
    readonly readiness: Pick<Readiness, "met" | "unmet">;
    readonly logger: Logger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/** Settings of DatapathProbe. */
export interface DatapathProbeOptions {
    readonly bridge: string;
    readonly datapath: Datapath;
    /**
     * Milliseconds before `passed` logs what it waits for, since OVS takes some time to create a bridge. Default 2000.
     */
    readonly quietMs?: number;
}

/**
 * The name of the readiness condition that DatapathProbe sets: the bridge is on a datapath with all required features.
 */
export const datapathCondition = "datapath";

/**
 * Asks ovs-vswitchd whether the bridge is on the expected datapath and whether that has the required features, and
 * applies settings for which OVSDB has no column; sets the readiness condition `datapathCondition`. OVSDB does not
 * report such problems: no column has the reason why a bridge cannot be created, and an existing one keeps its `datapath_id`.
 * Holds no timer: the caller probes again, as a restarted OVS has lost the settings.
 */
export class DatapathProbe {
    readonly #components: DatapathProbeComponents;
    readonly #options: DatapathProbeOptions;

    constructor(components: DatapathProbeComponents, options: DatapathProbeOptions) {
        this.#components = components;
        this.#options = options;
    }

    /**
     * Probes once. The readiness reports the problem until a later probe passes. After an abort it rejects with the
     * reason of the signal, and the readiness is not changed.
     *
     * @throws DatapathError, UnixctlError
     */
    async check(signal?: AbortSignal): Promise<void> {
        const { readiness } = this.#components;
        try {
            await this.#probe(signal);
        } catch (error) {
            signal?.throwIfAborted();
            readiness.unmet(datapathCondition, messageOf(error));
            throw error;
        }
        readiness.met(datapathCondition);
    }

    /**
     * Probes until it passes, at most a second apart: a module may be loaded, or OVS started. Each new reason is logged
     * once. Rejects only if the signal aborts, with its reason or AsyncError `ABORTED`.
     */
    async passed(signal: AbortSignal): Promise<void> {
        const backoff = new Backoff({ initialMs: 20, maxMs: 1_000 });
        const { clock = systemClock } = this.#components;
        const quietUntil = clock.monotonic() + (this.#options.quietMs ?? 2_000);
        for (let lastLogged = ""; ; await sleep(backoff.next(), signal, clock)) {
            try {
                return await this.check(signal);
            } catch (error) {
                if (!(error instanceof DatapathError) && !(error instanceof UnixctlError)) throw error;
                signal.throwIfAborted();
                const reason = messageOf(error);
                if (reason === lastLogged || clock.monotonic() < quietUntil) continue;
                this.#components.logger.warn("waiting for the datapath of OVS", { reason });
                lastLogged = reason;
            }
        }
    }

    async #probe(signal: AbortSignal | undefined): Promise<void> {
        const { control } = this.#components;
        const { bridge, datapath } = this.#options;
        const bridges = (await control.request("dpif/dump-dps", [], signal)).split("\n");
        if (!bridges.includes(`${datapath.type}@${bridge}`)) throw await this.#notMade(signal);
        const missing = missingFeatures(
            parseFeatures(await control.request("dpif/show-dp-features", [bridge], signal)),
        );
        if (missing.length > 0) {
            throw new DatapathError(
                "FEATURE_MISSING",
                "environment",
                `${datapath.title} of bridge ${bridge} on kernel ${release()} lacks: ${missing.join(", ")}; ${datapath.remedy}`,
                { details: { bridge, datapathType: datapath.type, missing } },
            );
        }
        for (const [command, ...args] of datapath.settings) await control.request(command, args, signal);
    }

    /** Opening the datapath fails for the same reason as the creation of the bridge. */
    async #notMade(signal: AbortSignal | undefined): Promise<DatapathError> {
        const { bridge, datapath } = this.#options;
        try {
            await this.#components.control.request("dpctl/show", [`${datapath.type}@ovs-${datapath.type}`], signal);
        } catch (error) {
            if (!isErrorOf(UnixctlError, error, "REFUSED")) throw error;
            return notMade(bridge, datapath, error.details.answer ?? "");
        }
        return notMade(bridge, datapath, "");
    }
}

/** @param answer the message of OVS, ending with strerror(3) of the error of the kernel or OVS; "" if there is none */
function notMade(bridge: string, { type, title }: Datapath, answer: string): DatapathError {
    const details = { bridge, datapathType: type, answer };
    const what = `OVS cannot make bridge ${bridge} on ${title}`;
    if (answer.includes("No such file or directory") && type === "system") {
        // ovs-vswitchd checks for the kernel module only once per process.
        const next =
            "load it on the Node (modprobe openvswitch) and restart container antrea-ovs, or set ovs.datapathType=netdev";
        const message = `${what}: kernel ${release()} had no module openvswitch loaded when OVS started; ${next}`;
        return new DatapathError("MODULE_MISSING", "environment", message, { details });
    }
    if (answer.includes("Address family not supported")) {
        const message = `${what}: this Open vSwitch has no datapath type ${type}; set ovs.datapathType to one that it has`;
        return new DatapathError("TYPE_MISSING", "environment", message, { details });
    }
    if (/Operation not permitted|Permission denied/.test(answer)) {
        const next = "container antrea-ovs needs the capability NET_ADMIN, and no policy of the Node against it";
        return new DatapathError("NOT_PERMITTED", "environment", `${what}: ${answer}; ${next}`, { details });
    }
    const reason = answer === "" ? "" : ` (${answer})`;
    const message = `OVS has not made bridge ${bridge} on ${title} yet${reason}; see the log of container antrea-ovs`;
    return new DatapathError("BRIDGE_NOT_MADE", "environment", message, { details });
}
