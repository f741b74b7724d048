import { niciraVendor } from "../action/constants.ts";
import { type FlowMod } from "../flow.ts";
import { type GroupMod } from "../group.ts";
import { type MeterMod } from "../meter.ts";
import { type PacketIn, type PacketOut } from "../packet.ts";
import { MessageType, readHeader, type Header } from "../wire/header.ts";
import { type Reader } from "../wire/reader.ts";
import { readBundleControl, type BundleControlMessage } from "./bundle.ts";
import { readError, type ErrorMessage } from "./error.ts";
import { readFlowMod } from "./flow-mod.ts";
import { readFlowRemoved, type FlowRemoved } from "./flow-removed.ts";
import { readGroupMod } from "./group-mod.ts";
import { readHello } from "./hello.ts";
import { readMeterMod } from "./meter-mod.ts";
import { readMultipartReply, type MultipartReply } from "./multipart.ts";
import { readPacketIn2, readPacketOut } from "./packet.ts";
import { readPort, type PortDescription } from "./port-description.ts";
import { readRole, type RoleMessage } from "./role.ts";
import { NiciraMessage, readFeatures, type Features } from "./simple.ts";

/**
 * A decoded message and its transaction id. `versions` are wire versions (6 is OpenFlow 1.5), `reason` of a port is
 * OFPPR_* (0 added, 1 deleted, 2 modified). `unknown` has a valid header and a type that this codec does not read; so
 * have experimenter messages other than NXT_PACKET_IN2.
 */
export type Message = { readonly xid: number } & (
    | { readonly type: "hello"; readonly versions: readonly number[] }
    | { readonly type: "error"; readonly error: ErrorMessage }
    | { readonly type: "echo_request" | "echo_reply"; readonly data: Uint8Array }
    | { readonly type: "features_request" | "barrier_request" | "barrier_reply" }
    | { readonly type: "features_reply"; readonly features: Features }
    | { readonly type: "flow_mod"; readonly mod: FlowMod }
    | { readonly type: "group_mod"; readonly mod: GroupMod }
    | { readonly type: "meter_mod"; readonly mod: MeterMod }
    | { readonly type: "flow_removed"; readonly removed: FlowRemoved }
    | { readonly type: "port_status"; readonly reason: number; readonly port: PortDescription }
    | { readonly type: "packet_out"; readonly packet: PacketOut }
    | { readonly type: "packet_in"; readonly packet: PacketIn }
    | { readonly type: "multipart_reply"; readonly reply: MultipartReply }
    | { readonly type: "role_request" | "role_reply"; readonly role: RoleMessage }
    | { readonly type: "bundle_control"; readonly control: BundleControlMessage }
    | { readonly type: "bundle_add"; readonly bundleId: number; readonly flags: number; readonly message: Message }
    | { readonly type: "unknown"; readonly messageType: number }
);

/**
 * Decodes one complete message, header included, such as `FrameSplitter` yields. The result holds copies, never views
 * of `frame`. Throws `OpenFlowError` for bytes that break the protocol: `SHORT`, `LONG`, `MALFORMED` or `VERSION`.
 */
export function decodeMessage(frame: Uint8Array): Message {
    const { header, body } = readHeader(frame);
    const message = decodeBody(header, body);
    return { xid: header.xid, ...message };
}

type Body = Message extends infer M ? (M extends Message ? Omit<M, "xid"> : never) : never;

function decodeBody({ version, type }: Header, body: Reader): Body {
    switch (type) {
        case MessageType.HELLO:
            return { type: "hello", versions: readHello(body, version) };
        case MessageType.ERROR:
            return { type: "error", error: readError(body) };
        case MessageType.ECHO_REQUEST:
            return { type: "echo_request", data: body.restCopy() };
        case MessageType.ECHO_REPLY:
            return { type: "echo_reply", data: body.restCopy() };
        case MessageType.EXPERIMENTER:
            return decodeExperimenter(body);
        case MessageType.FEATURES_REQUEST:
            return ended(body, { type: "features_request" });
        case MessageType.FEATURES_REPLY:
            return { type: "features_reply", features: readFeatures(body) };
        case MessageType.FLOW_REMOVED:
            return ended(body, { type: "flow_removed", removed: readFlowRemoved(body) });
        case MessageType.PORT_STATUS:
            return decodePortStatus(body);
        case MessageType.PACKET_OUT:
            return { type: "packet_out", packet: readPacketOut(body) };
        case MessageType.FLOW_MOD:
            return { type: "flow_mod", mod: readFlowMod(body) };
        case MessageType.GROUP_MOD:
            return { type: "group_mod", mod: readGroupMod(body) };
        case MessageType.METER_MOD:
            return ended(body, { type: "meter_mod", mod: readMeterMod(body) });
        case MessageType.MULTIPART_REPLY:
            return { type: "multipart_reply", reply: readMultipartReply(body) };
        case MessageType.BARRIER_REQUEST:
            return ended(body, { type: "barrier_request" });
        case MessageType.BARRIER_REPLY:
            return ended(body, { type: "barrier_reply" });
        case MessageType.ROLE_REQUEST:
            return ended(body, { type: "role_request", role: readRole(body) });
        case MessageType.ROLE_REPLY:
            return ended(body, { type: "role_reply", role: readRole(body) });
        case MessageType.BUNDLE_CONTROL:
            // Properties may follow; none is defined.
            return { type: "bundle_control", control: readBundleControl(body) };
        case MessageType.BUNDLE_ADD:
            return decodeBundleAdd(body);
        default:
            return { type: "unknown", messageType: type };
    }
}

function ended<T>(body: Reader, value: T): T {
    body.end();
    return value;
}

function decodeExperimenter(body: Reader): Body {
    const vendor = body.u32();
    const subtype = body.u32();
    if (vendor === niciraVendor && subtype === NiciraMessage.PACKET_IN2) {
        return { type: "packet_in", packet: readPacketIn2(body) };
    }
    return { type: "unknown", messageType: MessageType.EXPERIMENTER };
}

function decodePortStatus(body: Reader): Body {
    const reason = body.u8();
    body.skip(7);
    return ended(body, { type: "port_status", reason, port: readPort(body) });
}

function decodeBundleAdd(body: Reader): Body {
    const bundleId = body.u32();
    body.skip(2);
    const flags = body.u16();
    const inner = body.rest();
    // A bundle inside a bundle is rejected, so that received bytes cannot cause unlimited recursion.
    if (inner[1] === MessageType.BUNDLE_ADD) body.fail("bundle add inside a bundle add");
    return { type: "bundle_add", bundleId, flags, message: decodeMessage(inner) };
}
