import { type Reader } from "../wire/reader.ts";

/** A port of the switch (`ofp_port`): OpenFlow 1.5 section 7.2.1. */
export interface PortDescription {
    /** OpenFlow port number. */
    readonly port: number;
    /** 6 bytes. */
    readonly mac: Uint8Array;
    /** Name of the interface, at most 15 bytes. */
    readonly name: string;
    /** OFPPC_* bits: 1 is administratively down. */
    readonly config: number;
    /** OFPPS_* bits: 1 is link down. */
    readonly state: number;
}

const portNameBytes = 16;
const portBytes = 40;

/** Reads `ofp_port` and skips its properties. Throws `OpenFlowError` `SHORT` or `MALFORMED`. */
export function readPort(list: Reader): PortDescription {
    const port = list.u32();
    const length = list.u16();
    if (length < portBytes) list.fail(`port of length ${length}, at least ${portBytes}`);
    const reader = list.sub(length - 6, "port");
    reader.skip(2);
    const mac = new Uint8Array(reader.bytes(6));
    reader.skip(2);
    const text = reader.bytes(portNameBytes);
    const zero = text.indexOf(0);
    const name = new TextDecoder().decode(zero === -1 ? text : text.subarray(0, zero));
    return { port, mac, name, config: reader.u32(), state: reader.u32() };
}
