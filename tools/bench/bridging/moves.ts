import { setTimeout as sleep } from "node:timers/promises";
import { nic, placeOf, type LoadNode } from "../data-plane/load-node.ts";
import { BenchError } from "../error.ts";
import { type BridgingStage } from "./stage.ts";
import { untilBridged } from "./until-bridged.ts";

const settleMs = 200;

/** The longest time without connectivity to the Node, of each move and each restore, in milliseconds. */
export interface MoveGaps {
    readonly moves: readonly number[];
    readonly back: readonly number[];
}

/**
 * Repeatedly stops and starts the agent of the second Node, while a host on the underlay pings the Node. The agent is
 * running when this resolves.
 */
export async function measureMoves(stage: BridgingStage, count: number): Promise<MoveGaps> {
    const node = stage.nodes[1];
    const { name, address } = placeOf(node.index);
    await using echoes = stage.network.askForEchoes(address);
    const gapDuring = async (work: () => Promise<void>): Promise<number> => {
        await sleep(settleMs);
        const begin = Date.now();
        await work();
        const end = Date.now();
        await sleep(settleMs);
        return echoes.longestGap(begin, end);
    };
    const gaps = { moves: [] as number[], back: [] as number[] };
    for (let move = 0; move < count; move++) {
        gaps.back.push(await gapDuring(() => node.stopAgent()));
        refuseOther(node, "veth");
        const start = async (): Promise<void> => {
            await node.startAgent("bridging", stage.server);
            await untilBridged(stage.api, name);
        };
        gaps.moves.push(await gapDuring(start));
        refuseOther(node, "tun");
    }
    return gaps;
}

/** Rejects unless the device with the NIC's name is the NIC itself, or the port that replaces it, as wanted. */
function refuseOther(node: LoadNode, wanted: "veth" | "tun"): void {
    const [link] = JSON.parse(node.run("ip", "-j", "-d", "link", "show", nic)) as readonly [
        { readonly linkinfo?: { readonly info_kind?: string } },
    ];
    const kind = link.linkinfo?.info_kind ?? "none";
    if (kind === wanted) return;
    throw new BenchError("WRONG_RESULT", "internal", `${nic} should be of kind ${wanted} now, and is of kind ${kind}`);
}
