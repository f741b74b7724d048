import { expect, it } from "@jest/globals";
import { systemClock } from "@antrea/async";
import { formatPrefix } from "@antrea/ip";
import { serviceCidrs } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { kubePart } from "../../src/platform/parts.ts";
import type { Platform } from "../../src/platform/platform.ts";
import { serviceCidrWatch } from "../../src/platform/service-cidr-watch.ts";
import { FakeApi } from "../features/ip-pools/support/fake-api.ts";
import { silentLogger } from "../support/logger.ts";

function platformWith(api: FakeApi, gate: string): Platform {
    const part = { start: () => undefined, close: () => Promise.resolve() };
    return {
        clock: systemClock,
        events: part,
        gates: { enabled: (name: string) => name === gate },
        kube: { api, close: () => undefined },
        logger: silentLogger,
        nodes: part,
    } as unknown as Platform;
}

it("an agent that attaches networks knows the ServiceCIDRs of the cluster, and their changes, until it ends", async () => {
    const api = new FakeApi();
    const platform = platformWith(api, "SecondaryNetwork");
    const watch = serviceCidrWatch(platform);
    const known = (): readonly string[] | undefined => watch?.serviceCidrs?.map(formatPrefix);
    let reports = 0;
    watch?.onServiceCidrs(() => (reports += 1));
    expect(known()).toBeUndefined();
    const part = kubePart(platform, [undefined, watch]);
    await part.start?.(new AbortController().signal);
    await eventually(() => known()?.length === 0);
    expect(reports).toBeGreaterThan(0);
    const before = reports;
    api.put(serviceCidrs, { metadata: { name: "more" }, spec: { cidrs: ["10.97.0.0/16", "fd00:97::/112"] } } as never);
    await eventually(() => known()?.length === 2);
    expect(reports).toBeGreaterThan(before);
    await part.stop?.({} as never);
    api.put(serviceCidrs, { metadata: { name: "later" }, spec: { cidrs: ["10.98.0.0/16"] } } as never);
    expect(known()).toHaveLength(2);
});

it("one that does not attach any asks for none", () => {
    expect(serviceCidrWatch(platformWith(new FakeApi(), "AntreaIPAM"))).toBeUndefined();
});
