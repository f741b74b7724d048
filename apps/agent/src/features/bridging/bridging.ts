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

export interface BridgingComponents {
    readonly flowTable: VlanFlowTable;
    readonly next: NextTable;
    readonly openflow: Pick<OpenFlowConnection, "packetOut">;
    readonly logger: Logger;
    readonly clock?: Clock;
    readonly metrics?: MetricsFactory | undefined;
}

class BridgingError extends AntreaError<"NO_MAC" | "NOT_READY"> {}

/** What the agent has in bridging mode beside the rest. */
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

    /** The Node's interface is known: it, or the port that has taken its place, which has the same MAC address. */
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

    /** Of the Node's interface. */
    get mac(): string {
        if (this.#mac === undefined)
            throw new BridgingError("NOT_READY", "internal", "the Node's interface is not known yet");
        return this.#mac;
    }

    /** What it puts into the pipeline, made of what `input` says when it is asked. */
    pipeline(input: () => PipelineInput): FeaturePipeline {
        return { tables: bridgingTables, parts: () => Promise.resolve(bridgingParts(input())) };
    }

    input(ips: readonly IpAddress[], serviceCidrs: readonly Prefix[]): BridgingInput {
        const host = { ofPort: OfPort.host, mac: parseMac(this.mac), ips };
        return { uplink: { ofPort: OfPort.uplink }, host, serviceCidrs };
    }

    [Symbol.dispose](): void {
        this.#announcer[Symbol.dispose]();
    }
}
