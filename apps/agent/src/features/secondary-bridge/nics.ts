import { isErrorOf, messageOf } from "@antrea/errors";
import { formatIp, formatPrefix } from "@antrea/ip";
import { RouteProtocol, RouteScope, RouteType, type Link, type Netlink } from "@antrea/netlink";
import { UplinkError, type UplinkErrorCode } from "../../platform/host/uplink/index.ts";
import type { NicUplinks } from "./nic-uplinks.ts";

/** Why a NIC is not connected: the reason of the condition, and a sentence with the next step. */
export interface NicProblem {
    readonly reason: "NICMissing" | "NICTaken" | "NICUnsuitable" | "NICRolledBack" | "NICNotConnected";
    readonly text: string;
}

/** What a NIC of the configuration is now. */
type NicState =
    /** It is no port, and stays none until the problem is solved. */
    | { readonly kind: "refused"; readonly problem: NicProblem }
    /** It is no port, as it has not been without addresses for long enough. */
    | { readonly kind: "waiting"; readonly problem: NicProblem }
    /** It is, or can be, a port that the Node does not use. With a problem: it has got an address as a port. */
    | { readonly kind: "port"; readonly problem: NicProblem | undefined }
    /** The Node uses it too: it has a host port with the Node's addresses and routes or, with a problem, has none that works yet. */
    | { readonly kind: "ofNode"; readonly problem: NicProblem | undefined };

/** A NIC of the configuration, as it is now. */
export type Nic = NicState & {
    readonly name: string;
    /** In bytes; 0 if there is no such link. */
    readonly mtu: number;
};

/** Whether a NIC can be a port of the bridge, itself or by its host port. */
export function isUsable({ kind, problem }: Nic): boolean {
    return kind === "port" || (kind === "ofNode" && problem === undefined);
}

/** What `readNics` needs to know beside the links. */
export interface NicSurroundings {
    /** The OVS bridge that has a port of this name; undefined if none has. */
    readonly bridgeOf: (name: string) => string | undefined;
    /** The bridge that the NICs are for. */
    readonly ownBridge: string;
    readonly uplinks: Pick<NicUplinks, "bridgeName" | "failure" | "isMoved" | "portError" | "state">;
    /** The NIC that bridging mode has; undefined without it. */
    readonly bridgedNic: string | undefined;
    /** Whether a port of the bridge that has addresses now is to get a host port. */
    readonly mayTakeOut: boolean;
    /**
     * What becomes of a NIC that is no port and has no address: "port"; "waiting" while that may be for a moment, as at boot; or
     * "refused", as the Node used it at an earlier check.
     */
    readonly whenEmpty: (name: string) => "port" | "waiting" | "refused";
    /** Called with the index of the link of a NIC, undefined if there is none, before anything else of it is read. */
    readonly noteLink: (name: string, index: number | undefined) => void;
}

/** The device of Open vSwitch's kernel module. */
const kernelDatapath = "ovs-system";
/** ARPHRD_ETHER. */
const ethernet = 1;

/**
 * Reads the NICs of these names, in order; changes nothing. One with addresses or routes is of the Node: it is connected
 * once its uplink has moved these to a host port. Rejects with NetlinkError.
 */
export async function readNics(
    netlink: Pick<Netlink, "addresses" | "link" | "routes">,
    names: readonly string[],
    surroundings: NicSurroundings,
): Promise<readonly Nic[]> {
    return Promise.all(names.map((name) => readNic(netlink, name, surroundings)));
}

async function readNic(
    netlink: Pick<Netlink, "addresses" | "link" | "routes">,
    name: string,
    { bridgeOf, ownBridge, uplinks, bridgedNic, mayTakeOut, whenEmpty, noteLink }: NicSurroundings,
): Promise<Nic> {
    const link = await netlink.link(name);
    noteLink(name, link?.index);
    const nic = { name, mtu: link?.mtu ?? 0 };
    const problemOf = (reason: NicProblem["reason"], what: string): NicProblem => ({ reason, text: `${name} ${what}` });
    const refused = (reason: NicProblem["reason"], what: string): Nic => ({
        ...nic,
        kind: "refused",
        problem: problemOf(reason, what),
    });
    if (name === bridgedNic) return refused("NICTaken", "is the uplink of bridging mode; name another NIC");
    if (uplinks.isMoved(name)) return { ...nic, kind: "ofNode", problem: await movedProblem(netlink, name, uplinks) };
    const isToWait = (): Nic => ({ ...nic, kind: "ofNode", problem: waitProblem(name, uplinks) });
    // The links change their names meanwhile.
    if (uplinks.state(name).kind === "moving") return isToWait();
    if (link === undefined)
        return refused("NICMissing", "does not exist; correct secondaryNetwork.ovsBridges, or add the NIC");
    if (link.loopback || link.type !== ethernet)
        return refused("NICUnsuitable", "is no Ethernet link; name another NIC");
    const bridge = bridgeOf(name);
    // The bridge of the NIC may have it from a move that could not be undone yet.
    if (bridge !== undefined && bridge !== ownBridge && bridge !== uplinks.bridgeName(name)) {
        return refused("NICTaken", `is a port of OVS bridge ${bridge}; take it out with "ovs-vsctl del-port"`);
    }
    const isPort = bridge === ownBridge;
    const master = await masterOf(netlink, link);
    // The kernel datapath is the master of the ports that it has.
    if (master !== undefined && !(isPort && master === kernelDatapath))
        return refused("NICTaken", `belongs to ${master}; take it out, or name ${master}`);
    const used = await useOf(netlink, link);
    if (used === undefined) {
        switch (isPort ? "port" : whenEmpty(name)) {
            case "port":
                return { ...nic, kind: "port", problem: undefined };
            // A lease may just be renewed: as a port the NIC would never get its addresses back.
            case "refused":
                return refused(
                    "NICNotConnected",
                    "has no address and no route at the moment, and the Node used it before; give it an address, or restart the agent to use it without",
                );
            case "waiting": {
                const what = "has no address and no route; it becomes a port when that is still so in a few seconds";
                return { ...nic, kind: "waiting", problem: problemOf("NICNotConnected", what) };
            }
        }
    }
    // Pods would lose their connections by an address that somebody adds by mistake.
    if (isPort && !mayTakeOut) {
        const what = `has ${used}, which does not work on a port of a bridge; take it off, or restart the agent, which gives the Node a port with it`;
        return { ...nic, kind: "port", problem: problemOf("NICUnsuitable", what) };
    }
    return isToWait();
}

async function masterOf(netlink: Pick<Netlink, "link">, { master }: Link): Promise<string | undefined> {
    if (master === undefined) return undefined;
    return (await netlink.link(master))?.name ?? `link ${master}`;
}

/** What the Node uses the NIC for: an address or a route that is more than the link's own; undefined if for nothing. */
async function useOf(netlink: Pick<Netlink, "addresses" | "routes">, { index }: Link): Promise<string | undefined> {
    const address = (await netlink.addresses(index)).find(({ scope }) => scope < RouteScope.LINK);
    if (address !== undefined) return `the address ${formatIp(address.ip)}`;
    const route = (await netlink.routes({ dev: index })).find(
        ({ cloned, protocol, type }) => !cloned && protocol !== RouteProtocol.KERNEL && type === RouteType.UNICAST,
    );
    return route && `a route to ${formatPrefix(route.dst)}`;
}

/** A NIC may be removed while the host port has its name. */
async function movedProblem(
    netlink: Pick<Netlink, "link">,
    name: string,
    uplinks: NicSurroundings["uplinks"],
): Promise<NicProblem | undefined> {
    const state = uplinks.state(name);
    if (state.kind === "bridged" && (await netlink.link(state.physicalName)) === undefined) {
        const text = `${name}, named ${state.physicalName} as a port, does not exist any more; add the NIC and restart the agent`;
        return { reason: "NICMissing", text };
    }
    const error = uplinks.portError(name);
    if (error === undefined) return undefined;
    return { reason: "NICNotConnected", text: `OVS cannot open ${name}: ${error}; see the log of ovs-vswitchd` };
}

const reasons: Partial<Record<UplinkErrorCode, NicProblem["reason"]>> = {
    NIC_MISSING: "NICMissing",
    NIC_IN_USE: "NICTaken",
    NIC_UNSUITABLE: "NICUnsuitable",
    MULTIPATH_ROUTES: "NICUnsuitable",
    NEXT_HOP_OBJECTS: "NICUnsuitable",
    ENCAPSULATING_ROUTES: "NICUnsuitable",
};

/** Why a NIC of the Node has no host port yet. */
function waitProblem(name: string, uplinks: NicSurroundings["uplinks"]): NicProblem {
    const failure = uplinks.failure(name);
    if (failure !== undefined) {
        const reason = isErrorOf(UplinkError, failure) ? reasons[failure.code] : undefined;
        return { reason: reason ?? "NICNotConnected", text: `${name} is not connected: ${messageOf(failure)}` };
    }
    const state = uplinks.state(name);
    switch (state.kind) {
        case "rolledBack": {
            const next =
                "see that the network lets the traffic of the Node through (gateway, port security), then restart the agent to try again";
            return { reason: "NICRolledBack", text: `the move of ${name} was undone: ${state.reason}; ${next}` };
        }
        case "waiting":
            return { reason: "NICNotConnected", text: `${name} is not connected yet: ${state.reason}` };
        case "lost":
            return {
                reason: "NICNotConnected",
                text: `${name} was given back to the Node: ${state.reason}; it is connected again when OVS works`,
            };
        default:
            return { reason: "NICNotConnected", text: `${name} is being connected, with its addresses on a host port` };
    }
}
