import { type Link, type Netlink } from "@antrea/netlink";
import { UplinkError } from "./errors.ts";
import { isMadeByOvs, linkNamed } from "./links.ts";
import { isOurs } from "./own-ports.ts";
import { refuseRoutes } from "./snapshot.ts";
import type { UplinkPorts } from "./types.ts";

/** ARPHRD_ETHER. */
const ethernet = 1;

/**
 * Finds the NIC of this name and verifies that it can be moved; changes nothing. Rejects also with NetlinkError.
 *
 * @throws UplinkError `NIC_MISSING`, `NIC_UNSUITABLE`, `NIC_IN_USE`, or as `refuseRoutes`; the message names the remedy
 */
export async function suitableNic(netlink: Netlink, ports: UplinkPorts, name: string): Promise<Link> {
    const link = await linkNamed(netlink, name);
    const refuse = (code: "NIC_MISSING" | "NIC_UNSUITABLE" | "NIC_IN_USE", what: string): never => {
        throw new UplinkError(code, "environment", `${name} cannot become the uplink: ${what}`, {
            details: { link: name },
        });
    };
    if (link === undefined) return refuse("NIC_MISSING", "there is no such link; see transportInterface");
    if (link.loopback || link.type !== ethernet) refuse("NIC_UNSUITABLE", "it is no Ethernet link");
    if (isMadeByOvs(link)) refuse("NIC_UNSUITABLE", "it is a tap device or a port that OVS made");
    if (link.master !== undefined) {
        const master = await netlink.link(link.master);
        refuse("NIC_IN_USE", `it belongs to ${master?.name ?? `link ${link.master}`}; take it out, or name that one`);
    }
    const bridge = ports.bridgeOf(name);
    if (bridge !== undefined && !isOurs(ports.port(name))) {
        refuse("NIC_IN_USE", `it is a port of OVS bridge ${bridge}; take it out with "ovs-vsctl del-port"`);
    }
    await refuseRoutes(netlink, link);
    return link;
}
