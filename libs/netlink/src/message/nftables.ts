import { Attributes } from "./attributes.ts";
import { AddressFamily } from "./constants.ts";
import { Reader } from "./reader.ts";
import { type Query } from "./request.ts";
import { Writer } from "./writer.ts";

/** nlmsg_type of nfnetlink: NFNL_SUBSYS_NFTABLES in the upper byte, NFT_MSG_GETGEN (linux/netfilter/nf_tables.h). */
const GET_GENERATION = (10 << 8) | 16;
/** NFTA_GEN_ID, 32 bits in network byte order. */
const GENERATION_ID = 1;
/** struct nfgenmsg: family, version, resource. */
const GENERIC_BYTES = 4;

/** The query for the generation of the nftables rules, for `Exchange.ask` on a socket of the protocol NETFILTER. */
export function queryGeneration(): Query {
    const body = new Writer().u32(AddressFamily.UNSPEC).finish();
    return { type: GET_GENERATION, flags: 0, body, label: "get the generation of the nftables rules" };
}

/** Reads the payload of NFT_MSG_NEWGEN. Throws `NetlinkError` `SHORT_MESSAGE` or `BAD_MESSAGE`; undefined without a number. */
export function decodeGeneration(payload: Uint8Array): number | undefined {
    const reader = new Reader(payload, "nftables generation");
    reader.skip(GENERIC_BYTES);
    const id = new Attributes(reader.rest(), "nftables generation").bytes(GENERATION_ID);
    return id?.length === 4 ? new DataView(id.buffer, id.byteOffset).getUint32(0) : undefined;
}
