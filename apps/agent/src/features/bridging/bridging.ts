import { type Clock } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import {
    bridgingParts,
    bridgingTables,
    OfPort,
    type BridgingInput,
    type NextTable,
    type PipelineInput,
} from "@antrea/flows";
import { parseMac, type IpAddress, type Prefix } from "@antrea/ip";
import type { Link } from "@antrea/netlink";
import type { OpenFlowConnection } from "@antrea/openflow/connection";
import type { Logger, MetricsFactory } from "@antrea/runtime";
import type { FeaturePipeline } from "../../platform/ovs/pipeline.ts";
import { Announcer, BridgedPods, type VlanFlowTable } from "./bridged-pods/index.ts";

/** Dependencies of Bridging. */
export interface BridgingComponents {
    readonly flowTable: VlanFlowTable;
    readonly next: NextTable;
    readonly openflow: Pick<OpenFlowConnection, "packetOut">;
    readonly logger: Logger;
    readonly clock?: Clock;
    readonly metrics?: MetricsFactory | undefined;
}

class BridgingError extends AntreaError<"NO_MAC" | "NOT_READY"> {}

/** The additional parts of the agent in bridging mode. */
export class Bridging implements Disposable {
    readonly pods: BridgedPods;
    readonly #announcer: Announcer;
    #mac: string | undefined;

    constructor({ openflow, ...components }: BridgingComponents) {
        const { logger, clock } = components;
        this.#announcer = new Announcer({ packetOut: (packet) => openflow.packetOut(packet), logger, clock });
        this.pods = new BridgedPods({
            ...components,
            announcer: this.#announcer,
            hostMac: () => parseMac(this.mac),
        });
    }

    /**
     * Sets the Node's interface: the NIC, or the host port that replaced it and has the same MAC address. Throws
     * BridgingError `NO_MAC`.
     */
    use(link: Pick<Link, "name" | "mac">): void {
        if (link.mac === undefined) {
            throw new BridgingError(
                "NO_MAC",
                "environment",
                `enableBridgingMode: the transport interface ${link.name} has no MAC address, so it cannot be bridged`,
            );
        }
        this.#mac = link.mac;
    }

    /** MAC address of the Node's interface; throws BridgingError `NOT_READY` before `use`. */
    get mac(): string {
        if (this.#mac === undefined)
            throw new BridgingError("NOT_READY", "internal", "the Node's interface is not known yet");
        return this.#mac;
    }

    /** The pipeline tables and flows of bridging mode; `input` is evaluated each time the flows are built. */
    pipeline(input: () => PipelineInput): FeaturePipeline {
        return { tables: bridgingTables, parts: () => Promise.resolve(bridgingParts(input())) };
    }

    /** The pipeline input for the uplink and host ports; `ips` are the addresses of the host port. */
    input(ips: readonly IpAddress[], serviceCidrs: readonly Prefix[]): BridgingInput {
        const host = { ofPort: OfPort.host, mac: parseMac(this.mac), ips };
        return { uplink: { ofPort: OfPort.uplink }, host, serviceCidrs };
    }

    /** Cancels pending announcements. */
    [Symbol.dispose](): void {
        this.#announcer[Symbol.dispose]();
    }
}
