import { type Action, type Flow, type Match } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { ctStateIs, fieldsOf } from "../fields.ts";
import { type PipelineInput } from "../inputs.ts";
import { setDestination } from "../l3.ts";
import { choosePort } from "../output.ts";
import { CtMark, notBridged, partsAre, Reg, Source } from "../registers.ts";
import { type NextTable } from "../part.ts";
import { Priority, Table } from "../tables.ts";

const ofService = partsAre([CtMark.service, 1]);
const established = ctStateIs({ new: false, inv: false, trk: true });
const begun = ctStateIs({ new: true, inv: false, trk: true });
const reply = ctStateIs({ rpl: true, trk: true });

/**
 * Flows for packets of connections that the switch translated, after the lookup has translated them: they pass no
 * choice of an endpoint, even if the connection still counts as new. Those of Pods get the MAC address of the gateway,
 * as the endpoint answers a client beside it directly, and the client expects the answer from its router. Bridged
 * Pods answer by the underlay, whose router they address.
 */
export function serviceStateFlows(
    next: NextTable,
    family: Family,
    { gateway, bridging }: Pick<PipelineInput, "gateway" | "bridging">,
): Flow[] {
    const any = { ...fieldsOf(family).any, ...ofService };
    const fromPod = {
        ...partsAre([CtMark.service, 1], [Reg.source, Source.pod]),
        ...(bridging === undefined ? {} : notBridged),
    };
    const table = Table.ConntrackState;
    const routed = [setDestination(gateway.mac)];
    const policies = next.into("egressPolicy", family);
    return [
        {
            table,
            priority: Priority.high,
            match: { ...any, ...fromPod, ...established },
            actions: routed,
            gotoTable: next.into("routing", family),
        },
        {
            table,
            priority: Priority.high,
            match: { ...any, ...fromPod, ...begun },
            actions: routed,
            gotoTable: policies,
        },
        { table, priority: Priority.normal, match: { ...any, ...begun }, actions: [], gotoTable: policies },
        // the translation has committed it
        {
            table: Table.ConntrackCommit,
            priority: Priority.top,
            match: { ...any, ...ctStateIs({ new: true, trk: true }) },
            actions: [],
            gotoTable: next.after("ConntrackCommit", family),
        },
    ];
}

/**
 * Flows for connections from the gateway to Services: to endpoints that are the host itself or that only the host
 * reaches, and the answers of those, both back to the host. Answers of bridged Pods go to the host by the gateway.
 */
export function gatewayServiceFlows(
    next: NextTable,
    family: Family,
    { gateway, bridging }: Pick<PipelineInput, "gateway" | "bridging">,
): Flow[] {
    const { any } = fieldsOf(family);
    const toGateway = setDestination(gateway.mac);
    const fromGateway = [Reg.source, Source.gateway] as const;
    const service = [CtMark.service, 1] as const;
    const began = [CtMark.source, Source.gateway] as const;
    const forward = ctStateIs({ rpl: false, trk: true });
    const flows = [
        l3(next, Priority.last, { ...any, ...forward, ...partsAre(fromGateway, service) }, [toGateway]),
        l3(next, Priority.top, { ...any, ...reply, ...partsAre(fromGateway, service, began) }, [toGateway]),
    ];
    if (bridging === undefined) return flows;
    const answer = {
        table: Table.BridgedForwarding,
        priority: Priority.high,
        match: { ...any, ...reply, ...partsAre([Reg.bridged, 1], service, began) },
        actions: [toGateway, ...choosePort(gateway.ofPort)],
        gotoTable: next.into("switching"),
    };
    return [...flows, answer];
}

function l3(next: NextTable, priority: number, match: Match, actions: readonly Action[]): Flow {
    return { table: Table.L3Forwarding, priority, match, actions, gotoTable: next.into("switching") };
}
