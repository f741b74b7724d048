import { type Action, type Flow, type Match } from "@antrea/openflow";
import { type Family, type IpAddress } from "@antrea/ip";
import { ctStateIs, fieldsOf, fromIp } from "../fields.ts";
import { type Gateway, type PipelineInput, type PodInput } from "../inputs.ts";
import { CtMark, load, move, OutputKind, partsAre, Reg, Source } from "../registers.ts";
import { type NextTable, type PipelinePart } from "../part.ts";
import { Priority, Table } from "../tables.ts";
import { serviceSource } from "./addresses.ts";
import { returnFlows } from "./service-reply.ts";

/** Ports of the gateway's address for translated connections; below those that the host uses by itself. */
const gatewayPorts = { portMin: 1024, portMax: 0x7fff };

const backToInPort = load(Reg.outputKind, OutputKind.inPort);
const backward = ctStateIs({ rpl: true, trk: true });
const forward = ctStateIs({ rpl: false, trk: true });
const service = [CtMark.service, 1] as const;

/**
 * Source NAT for packets of bridged Pods to Services that the host translates, or forwards (`onLinkServiceFlows`). With the
 * Pod's own address the host would send the answer to the underlay, or drop the packet because of its ingress interface. The switch therefore
 * translates the source, in a conntrack zone of its own whose mark stores the Pod's VLAN; answers are looked up there
 * first, then in the zone of that VLAN. Every packet commits, which restores a connection that only one of the two
 * zones has lost.
 */
export function serviceSnatPart({ families, services }: Pick<PipelineInput, "families" | "services">): PipelinePart {
    return {
        // they are those of bridging mode, or of Services
        tables: [],
        flows: (next) =>
            families.flatMap((family) => [
                ...(services === undefined ? returnFlows(next, family) : []),
                {
                    table: Table.ServiceSnat,
                    priority: Priority.normal,
                    match: { ...fieldsOf(family).any, ...partsAre([Reg.toService, 1]) },
                    actions: [translateSource(family, serviceSource(family), [move(Reg.vlan, CtMark.vlan)])],
                    gotoTable: next.into("output", family),
                },
            ]),
    };
}

/**
 * Flows that translate the source of what the gateway sends to a Service, as the endpoint's answer would not come back to
 * the switch by itself: through a tunnel, as from the gateway's address; back to the host, with the virtual source.
 * Each packet of that direction commits, without another pass.
 */
export function gatewaySnatFlows(
    next: NextTable,
    family: Family,
    { gateway, services }: Pick<PipelineInput, "gateway" | "services">,
): Flow[] {
    const { any } = fieldsOf(family);
    const from = (port: number, direction: Match): Match => ({
        ...any,
        ...partsAre([Reg.source, Source.gateway], [Reg.outputPort, port], service),
        ...direction,
    });
    const toHost = from(gateway.ofPort, forward);
    const virtual = translateSource(family, serviceSource(family));
    const { tunnel } = services ?? {};
    return [
        snat(next, Priority.normal, toHost, [virtual, backToInPort]),
        snat(next, Priority.normal, from(gateway.ofPort, backward), [backToInPort]),
        ...(tunnel === undefined ? [] : tunnelSnat(next, family, gateway, from(tunnel.ofPort, forward))),
    ];
}

function tunnelSnat(next: NextTable, family: Family, { ips }: Gateway, match: Match): Flow[] {
    const [source, ...others] = ips.filter((ip) => ip.family === family);
    if (source === undefined) return [];
    return [
        ...[source, ...others].map((ip) => snat(next, Priority.high, { ...match, ...fromIp(ip) }, [])),
        snat(next, Priority.normal, match, [translateSource(family, source, [], gatewayPorts)]),
    ];
}

/**
 * Flows for a Pod that a Service connects with itself: it sees the virtual source, and packets leave by the port that
 * they came from. They match the Pod's port, so that cached flows of others do not get narrower.
 */
export function hairpinFlows(next: NextTable, { ofPort, ips, bridged }: PodInput): Flow[] {
    return [...new Set(ips.map((ip) => ip.family))].flatMap((family) => {
        const match = {
            ...fieldsOf(family).any,
            in_port: ofPort,
            ...partsAre([Reg.outputPort, ofPort], service),
        };
        const exec = bridged === undefined ? [] : [move(Reg.vlan, CtMark.vlan)];
        const virtual = translateSource(family, serviceSource(family), exec);
        return [
            snat(next, Priority.high, { ...match, ...forward }, [virtual, backToInPort]),
            snat(next, Priority.high, { ...match, ...backward }, [backToInPort]),
        ];
    });
}

/** The packet continues at once: without `table` the commit needs no recirculation. */
function translateSource(
    family: Family,
    source: IpAddress,
    exec: readonly Action[] = [],
    ports: Partial<typeof gatewayPorts> = {},
): Action {
    return {
        type: "ct",
        commit: true,
        zone: fieldsOf(family).snatZone,
        nat: { kind: "src", min: source, ...ports },
        ...(exec.length === 0 ? {} : { exec }),
    };
}

function snat(next: NextTable, priority: number, match: Match, actions: readonly Action[]): Flow {
    return { table: Table.ServiceSnat, priority, match, actions, gotoTable: next.after("ServiceSnat") };
}
