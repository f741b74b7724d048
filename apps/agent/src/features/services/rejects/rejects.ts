import { messageOf } from "@antrea/errors";
import { rejectUserdata } from "@antrea/flows";
import type { Family } from "@antrea/ip";
import { Port, type PacketIn, type PacketOut } from "@antrea/openflow";
import type { Logger } from "@antrea/runtime";
import { rejection } from "./answer.ts";
import { readPacket } from "./packet.ts";

/** Dependencies of Rejects. */
export interface RejectsComponents {
    /** Sends a PACKET_OUT; may throw, which is logged. */
    readonly packetOut: (packet: PacketOut) => void;
    readonly logger: Logger;
    readonly onRejected: (family: Family) => void;
}

/** Answers the packets that OVS hands over because their Service has no endpoint, at the port where they came from. */
export class Rejects {
    readonly #components: RejectsComponents;

    constructor(components: RejectsComponents) {
        this.#components = components;
    }

    /** For `onPacketIn`; packets that flows of others have sent are ignored. Never throws. */
    handle({ data, metadata, userdata }: PacketIn): void {
        if (userdata === undefined || !isReject(userdata)) return;
        const inPort = metadata.in_port;
        const packet = readPacket(data);
        const answer = packet && rejection(packet);
        if (packet === undefined || answer === undefined || typeof inPort !== "number") return;
        try {
            // straight to the port: the answer is from a Service's address, which no Pod may have
            this.#components.packetOut({
                inPort: Port.CONTROLLER,
                data: answer,
                actions: [{ type: "output", port: inPort }],
            });
            this.#components.onRejected(packet.family);
        } catch (error) {
            this.#components.logger.debug("a packet to a Service without endpoints was not answered", {
                port: inPort,
                reason: messageOf(error),
            });
        }
    }
}

function isReject(userdata: Uint8Array): boolean {
    return userdata.length === rejectUserdata.length && userdata.every((byte, at) => byte === rejectUserdata[at]);
}
