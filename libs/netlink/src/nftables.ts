import { decodeGeneration, queryGeneration } from "./message/nftables.ts";
import { KernelChannel, NetlinkProtocol } from "./socket/channel.ts";
import { Exchange } from "./socket/exchange.ts";

/**
 * The generation of the nftables rules in the network namespace of this process: a number that each change of a table,
 * chain, set or rule replaces, whoever makes it, also iptables(8) in its nft variant. While it is the same, nothing has to be
 * listed again. Needs CAP_NET_ADMIN. Undefined if the kernel names none; throws `NetlinkError` with the errno by name, on a
 * kernel without nftables `EINVAL` or `EPROTONOSUPPORT`.
 */
export function nftablesGeneration(): number | undefined {
    using channel = new KernelChannel({}, NetlinkProtocol.NETFILTER);
    return new Exchange(channel).ask(queryGeneration(), decodeGeneration);
}
