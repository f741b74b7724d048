import { expect, it } from "@jest/globals";
import { AntreaError } from "@antrea/errors";
import { Jobs, Metrics } from "@antrea/runtime";
import { DaemonServer } from "@antrea/serving";
import { datapathOf } from "../../../src/platform/ovs/datapath/index.ts";
import { reporting } from "../../../src/platform/reporting.ts";
import { inputFilterCondition, guardHost } from "../../../src/features/host-filter/guard-parts.ts";
import { NftError, type RunNft } from "../../../src/platform/nftables.ts";
import { declareReadiness, Readiness } from "../../../src/platform/readiness.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/logger.ts";

it("no Pod is wired, and the agent is not ready, while the host input filter for Pod frames cannot be installed", async () => {
    let isBroken = true;
    const nft: RunNft = async () => {
        if (isBroken) throw new NftError("NFT_FAILED", "environment", "nft: Operation not supported");
        return "";
    };
    const readiness = new Readiness({});
    const metrics = new Metrics({ processMetrics: false });
    declareReadiness(metrics, readiness);
    const jobs = new Jobs({ logger: silentLogger });
    const health = new DaemonServer(
        { logger: silentLogger, metrics, authorize: async () => true },
        { name: "antrea-agent", host: "127.0.0.1", port: 0, probePort: 0 },
    );
    health.addCheck("network", "ready", () => readiness.missing());
    await health.start();
    const readyz = async (): Promise<number> => (await fetch(`http://127.0.0.1:${health.probePort}/readyz`)).status;
    try {
        const guarded = guardHost({
            datapath: datapathOf("netdev"),
            jobs,
            logger: silentLogger,
            readiness,
            host: { nft, rulesGeneration: () => undefined },
        });
        expect(readiness.missing()).toContain("not installed yet");
        await guarded;
        expect(readiness.missing()).toContain(
            "host input filter for Pod frames cannot be installed: nft: Operation not supported",
        );
        expect(await readyz()).toBe(503);
        expect(await metrics.text()).toContain(`antrea_agent_unmet_conditions{condition="${inputFilterCondition}"} 1`);
        const add = readiness.ready(AbortSignal.timeout(50));
        await expect(add).rejects.toMatchObject({ code: "NOT_READY" });
        isBroken = false;
        jobs.start();
        expect(await eventually(readyz, (status) => status === 200)).toBe(200);
        await readiness.ready(AbortSignal.timeout(50));
        expect(await metrics.text()).not.toContain("antrea_agent_unmet_conditions{");
    } finally {
        await jobs.stop();
        await health.stop();
    }
});

it("the datapath of the kernel needs no guard", async () => {
    const nft: RunNft = () => Promise.reject(new Error("not to be called"));
    const readiness = new Readiness({});
    const jobs = new Jobs({ logger: silentLogger });
    await guardHost({
        datapath: datapathOf("system"),
        jobs,
        logger: silentLogger,
        readiness,
        host: { nft, rulesGeneration: () => undefined },
    });
    expect([readiness.missing(), jobs.health()]).toEqual([undefined, []]);
});

it("work that fails is reported until it succeeds, and what is aborted reports nothing", async () => {
    const reports: (string | undefined)[] = [];
    const report = (problem: string | undefined): void => void reports.push(problem);
    const failing = (error: Error): Promise<void> =>
        reporting({ what: "no masquerading", report }, () => Promise.reject(error));
    await expect(failing(new Error("nft is broken"))).rejects.toThrow("nft is broken");
    await expect(failing(new AntreaError("ABORTED", "aborted", "the job ends"))).rejects.toThrow();
    await reporting({ what: "no masquerading", report }, () => Promise.resolve());
    expect(reports).toEqual(["no masquerading: nft is broken", undefined]);
});
