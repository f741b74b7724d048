import { sleep } from "@antrea/async";
import type { NodePlatform } from "../../../platform/node-platform.ts";
import { addressFlows } from "../address-flows.ts";
import { udpComponents } from "./components.ts";
import { UdpCleanUp } from "./udp-clean-up.ts";

/** How often the flows of an earlier start are counted. */
const countMs = 1_000;

/**
 * Removes all UDP connections that OVS has translated, once no flow of a Service is left; for a start at which AntreaProxy is
 * off. Resolves when the connections were compared twice. Rejects with OpenFlowError, UnixctlError or, if connections are
 * left, an AntreaError `STALE_LEFT`; on abort `ABORTED`. May be called again.
 */
export async function removeTranslated(
    platform: Parameters<typeof udpComponents>[0] & Pick<NodePlatform, "clock">,
    signal: AbortSignal,
): Promise<void> {
    const { clock, openflow } = platform;
    // flows of an earlier start, which translate, are deleted when those to all other Nodes are known
    while ((await openflow.countFlows(addressFlows, { signal })).flows > 0) await sleep(countMs, signal, clock);
    const udp = new UdpCleanUp({
        ...udpComponents(platform),
        possible: () => [],
        host: undefined,
        onFlushed: () => undefined,
        clock,
    });
    udp.begin();
    for (;;) {
        const { againInMs } = await udp.pass(signal);
        if (againInMs === undefined) return;
        await sleep(againInMs, signal, clock);
    }
}
