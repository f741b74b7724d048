import { messageOf } from "@antrea/errors";
import { Category, learnedCookie, learnedMatches, Table } from "@antrea/flows";
import type { IpAddress } from "@antrea/ip";
import { flowKey, type BundleMod, type FlowStats, type Match } from "@antrea/openflow";
import type { Logger } from "@antrea/runtime";
import type { ServedService } from "@antrea/services";
import { inBundles, ofCategory, type CookieFilter, type FlowLink } from "../../platform/ovs/flow-table/index.ts";
import { inSlices } from "../../platform/slices.ts";

/** Dependencies of LearnedFlows, and what decides for which addresses flows are learned. */
export interface LearnedFlowsComponents {
    readonly openflow: Pick<FlowLink, "bundle" | "dumpFlows">;
    readonly logger: Logger;
    /** Whether OVS serves the Node itself and clients outside. */
    readonly proxyAll: boolean;
    /** See `Datapath`. */
    readonly keepsFragments: boolean;
}

/** What OVS learns for a port of a Service: the timeout of the flows, and their matches but for the client, by their text. */
interface Learning {
    readonly seconds: number;
    readonly matches: ReadonlyMap<string, Match>;
}

/** By the cookie of its flows. */
type LearningPorts = ReadonlyMap<bigint, Learning>;

const allBits = (1n << 64n) - 1n;
const none: LearningPorts = new Map();

const allLearned: CookieFilter = { table: Table.SessionAffinity, ...ofCategory(Category.service, 0) };

/**
 * Deletes flows in which OVS has learned the endpoints of clients, when their Service has no such affinity, address or port
 * any more: OVS changes neither the timeout nor the cookie of a flow that it learns again. What stays after a failure leads
 * nowhere and ends when it is idle.
 */
export class LearnedFlows {
    readonly #components: LearnedFlowsComponents;
    /** What OVS learns now, by the key of the Service. */
    readonly #learning = new Map<string, LearningPorts>();

    constructor(components: LearnedFlowsComponents) {
        this.#components = components;
    }

    /**
     * To be called when OVS has the change of a Service; undefined: nothing of it. A failure is logged.
     *
     * @param standIns addresses to which the host translates external addresses, by the text of those
     */
    async changed(
        key: string,
        after: ServedService | undefined,
        standIns: ReadonlyMap<string, IpAddress>,
        signal: AbortSignal,
    ): Promise<void> {
        const before = this.#learning.get(key) ?? none;
        const now = this.#learningOf(after, standIns);
        if (now.size === 0) this.#learning.delete(key);
        else this.#learning.set(key, now);
        const mods = [...before].flatMap(([cookie, learning]) => deletions(cookie, learning, now.get(cookie)));
        if (mods.length === 0) return;
        try {
            await inBundles(this.#components.openflow, mods, signal);
        } catch (error) {
            this.#components.logger.debug("learned flows of a Service stay", {
                service: key,
                reason: messageOf(error),
            });
        }
    }

    /**
     * Deletes all learned flows but those that OVS would learn now with the same timeout: of Services that were changed or
     * deleted while the agent was away. To be called when OVS has all Services. Rejects with OpenFlowError.
     */
    async deleteOthers(signal: AbortSignal): Promise<void> {
        const { logger, openflow } = this.#components;
        const flows = await openflow.dumpFlows(allLearned, { signal });
        const learning = new Map([...this.#learning.values()].flatMap((ports) => [...ports]));
        const stale: BundleMod[] = [];
        await inSlices(flows, (flow) => {
            const { table, priority, match, cookie } = flow;
            if (flow.opaqueMatch !== undefined || isLearned(flow, learning.get(cookie))) return;
            const deleted = { table, priority, match, actions: [], cookie };
            stale.push({ command: "delete_strict", flow: deleted, cookieMask: allBits });
        });
        await inBundles(openflow, stale, signal);
        if (stale.length > 0)
            logger.info("clients of changed Services get their endpoint anew", { flows: stale.length });
    }

    #learningOf(service: ServedService | undefined, standIns: ReadonlyMap<string, IpAddress>): LearningPorts {
        const seconds = service?.affinitySeconds;
        if (service === undefined || seconds === undefined) return none;
        return new Map(
            service.ports.map((port) => {
                const matches = learnedMatches(port, { ...this.#components, standIns });
                const byText = new Map(matches.map((match) => [textOf(match), match]));
                return [learnedCookie(service.uid, port.name, port.family), { seconds, matches: byText }];
            }),
        );
    }
}

/** All flows of the port in one, if its affinity is gone or has another timeout; else those of matches that are gone. */
function deletions(cookie: bigint, before: Learning, now: Learning | undefined): readonly BundleMod[] {
    const isSame = now?.seconds === before.seconds;
    const gone = isSame ? [...before.matches].flatMap(([text, match]) => (now.matches.has(text) ? [] : [match])) : [{}];
    return gone.map((match) => ({
        command: "delete",
        flow: { table: Table.SessionAffinity, match, cookie },
        cookieMask: allBits,
    }));
}

function isLearned({ match, idleTimeout }: FlowStats, learning: Learning | undefined): boolean {
    if (learning === undefined || learning.seconds !== idleTimeout) return false;
    const { ipv4_src: _ofClient4, ipv6_src: _ofClient6, ...toAddress } = match;
    const { ipv4_dst: _address4, ipv6_dst: _address6, ...toPort } = toAddress;
    return [toAddress, toPort].some((one) => learning.matches.has(textOf(one)));
}

function textOf(match: Match): string {
    return flowKey({ table: Table.SessionAffinity, priority: 0, match });
}
