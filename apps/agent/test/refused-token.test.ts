import { beforeEach, describe, expect, it } from "@jest/globals";
import { KubeError, type InformerState, type KubeErrorCode } from "@antrea/kube";
import { Metrics } from "@antrea/runtime";
import { ManualClock } from "@antrea/runtime/testing";
import { RefusedToken } from "../src/refused-token.ts";
import { silentLogger } from "./support/logger.ts";

const watching: InformerState = { kind: "watching" };

function failed(code: KubeErrorCode): InformerState {
    return { kind: "waiting", lastError: new KubeError(code, "no"), sinceMs: 0 };
}

describe("an agent whose token is refused", () => {
    let clock: ManualClock;
    let metrics: Metrics;
    let informer: { state: InformerState };
    let token: RefusedToken;

    async function look(state: InformerState): Promise<string | undefined> {
        await clock.advance(5_000);
        informer.state = state;
        token.look();
        return token.problem;
    }

    const seconds = async (): Promise<string | undefined> =>
        (await metrics.text()).split("\n").find((line) => line.startsWith("antrea_agent_token_refused_seconds "));

    beforeEach(() => {
        [clock, metrics, informer] = [new ManualClock(), new Metrics({ processMetrics: false }), { state: watching }];
        token = new RefusedToken({ informer, clock, metrics, logger: silentLogger });
    });

    it("says so, and for how long, also while it tries again", async () => {
        expect(await look(watching)).toBeUndefined();
        expect(await look(failed("UNAUTHORIZED"))).toContain("401");
        expect(await look({ kind: "listing" })).toContain("401");
        expect(await look({ kind: "listing" })).toContain("401");
        expect(await look(failed("UNAUTHORIZED"))).toContain("401");
        expect(await seconds()).toBe("antrea_agent_token_refused_seconds 15");
    });

    it.each<InformerState>([watching, failed("FORBIDDEN"), failed("NOT_FOUND"), failed("EXPIRED")])(
        "says nothing any more when it is accepted again: %j",
        async (state) => {
            await look(failed("UNAUTHORIZED"));
            expect(await look(state)).toBeUndefined();
            expect(await seconds()).toBe("antrea_agent_token_refused_seconds 0");
        },
    );

    it.each<KubeErrorCode>(["TIMEOUT", "CONNECTION_FAILED", "UNAVAILABLE", "TOO_MANY_REQUESTS"])(
        "does not take %s, which says nothing of its token, for accepted",
        async (code) => {
            await look(failed("UNAUTHORIZED"));
            await look(failed(code));
            expect(await look(failed(code))).toContain("401");
            expect(await seconds()).toBe("antrea_agent_token_refused_seconds 10");
        },
    );

    it.each<KubeErrorCode>(["CONNECTION_FAILED", "FORBIDDEN", "UNAVAILABLE"])("is another than %s", async (code) => {
        expect(await look(failed(code))).toBeUndefined();
    });
});
