import { parseMac } from "@antrea/ip";
import { badArgument } from "../errors.ts";
import { type VethOptions, type VethPeerOptions } from "../types/link.ts";
import { LinkAttribute, LinkInfoAttribute, MessageType } from "./constants.ts";
import { ifinfomsg } from "./ifinfomsg.ts";
import { checkedGroup, checkedMtu, checkedName } from "./link-checks.ts";
import { CREATE, type Request } from "./request.ts";
import { Writer } from "./writer.ts";

const MAX_QUEUES = 4096;

/**
 * The request that creates a veth pair: one end here, the other in the namespace of the descriptor `netnsFd`, which
 * must stay open until the message is sent. The kernel accepts no alias at creation (`options.alias` is not read): set
 * it with `setLink`. Throws `NetlinkError` `BAD_ARGUMENT` for a name, MTU, group or queues out of range, `IpError` for
 * a MAC address.
 */
export function createVeth(options: VethOptions, netnsFd: number): Request {
    const { peer } = options;
    const body = ifinfomsg(new Writer(), options.up === true ? { up: true } : {});
    endOfVeth(body, options, options.queues);
    if (options.group !== undefined) body.attributeU32(LinkAttribute.GROUP, checkedGroup(options.group));
    body.nest(LinkAttribute.LINKINFO, () => {
        body.attributeText(LinkInfoAttribute.KIND, "veth");
        body.nest(LinkInfoAttribute.DATA, () => {
            body.nest(LinkInfoAttribute.VETH_PEER, () => {
                ifinfomsg(body, {});
                endOfVeth(body, peer, options.queues);
                body.attributeU32(LinkAttribute.NET_NS_FD, netnsFd);
            });
        });
    });
    return {
        type: MessageType.NEWLINK,
        flags: CREATE,
        body: body.finish(),
        label: `create veth ${options.name} with peer ${peer.name} in ${peer.netnsPath}`,
    };
}

function endOfVeth(writer: Writer, end: VethOptions | VethPeerOptions, queues: number | undefined): void {
    writer
        .attributeText(LinkAttribute.IFNAME, checkedName(end.name))
        .attribute(LinkAttribute.ADDRESS, parseMac(end.mac))
        .attributeU32(LinkAttribute.MTU, checkedMtu(end.mtu));
    if (queues === undefined) return;
    if (!Number.isInteger(queues) || queues < 1 || queues > MAX_QUEUES) {
        throw badArgument("queues of a veth pair", queues, `1 to ${MAX_QUEUES} allowed`);
    }
    writer.attributeU32(LinkAttribute.NUM_TX_QUEUES, queues).attributeU32(LinkAttribute.NUM_RX_QUEUES, queues);
}
