import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import type { RuleElement } from "../../../src/features/host-services/elements.ts";
import { HostRules } from "../../../src/features/host-services/host-rules.ts";
import { NftError } from "../../../src/platform/nftables.ts";
import { silentLogger } from "../../support/logger.ts";

const nodePort = (port: number): RuleElement => ({ set: "nodeports4", element: `6 . ${port}`, value: "" });

let clock: ManualClock;
let generation: number;
let hasTable: boolean;
let isBroken: boolean;
/** What was written. */
let scripts: string[];
/** Called before something is written. */
let onWrite: () => void;
let rules: HostRules;

beforeEach(() => {
    clock = new ManualClock();
    [generation, hasTable, isBroken, scripts, onWrite] = [1, false, false, [], () => undefined];
    rules = new HostRules(
        {
            clock,
            generation: () => generation,
            logger: silentLogger,
            nft: (args, input) => {
                if (isBroken) return Promise.reject(new NftError("NFT_FAILED", "environment", "no memory"));
                if (args.includes("list")) return Promise.resolve(hasTable ? "table inet antrea-services\n" : "");
                onWrite();
                scripts.push(input);
                [generation, hasTable] = [generation + 1, true];
                return Promise.resolve("");
            },
        },
        { families: [4], gatewayName: "antrea-gw0", nodePortAddresses: [], randomFully: false },
    );
});

describe("the state of the rules", () => {
    it("is without rules until they were written once", async () => {
        expect(rules.state).toEqual({ areInstalled: false, waitingMs: undefined });
        expect(await rules.standIns()).toEqual([]);
        isBroken = true;
        await expect(rules.ensure()).rejects.toThrow("no memory");
        expect(rules.state.areInstalled).toBe(false);
        isBroken = false;
        await rules.ensure();
        expect(rules.state).toEqual({ areInstalled: true, waitingMs: undefined });
    });

    it("counts those of an earlier start", async () => {
        hasTable = true;
        await rules.standIns();
        expect(rules.state.areInstalled).toBe(true);
    });

    it("has how long the oldest change has been waiting, over tries that fail, until it is written", async () => {
        await rules.ensure();
        expect(rules.set("default/web", [nodePort(30_000)])).toBe(true);
        await clock.advance(5_000);
        expect(rules.set("default/api", [nodePort(30_001)])).toBe(true);
        isBroken = true;
        await expect(rules.ensure()).rejects.toThrow("no memory");
        await clock.advance(5_000);
        expect(rules.state.waitingMs).toBe(10_000);
        isBroken = false;
        let during: number | undefined;
        onWrite = () => {
            during = rules.state.waitingMs;
            rules.set("default/api", []);
        };
        await rules.ensure();
        // the change meanwhile
        expect([during, rules.state.waitingMs]).toEqual([10_000, 0]);
        onWrite = () => undefined;
        await rules.ensure();
        expect(rules.state.waitingMs).toBeUndefined();
    });

    it("has how long a repair has been waiting", async () => {
        await rules.ensure();
        generation += 1;
        isBroken = true;
        await expect(rules.ensure()).rejects.toThrow("no memory");
        await clock.advance(7_000);
        await expect(rules.ensure()).rejects.toThrow("no memory");
        expect(rules.state.waitingMs).toBe(7_000);
    });
});

describe("the elements of a Service", () => {
    it("are something to write only if they are others", async () => {
        expect(rules.set("default/web", [nodePort(30_000)])).toBe(true);
        expect(rules.set("default/web", [nodePort(30_000)])).toBe(false);
        expect(rules.state.waitingMs).toBe(0);
        await rules.ensure();
        expect(rules.set("default/web", [nodePort(30_000)])).toBe(false);
        expect(rules.state.waitingMs).toBeUndefined();
        // it has the other's now, which takes it along
        expect(rules.set("default/api", [nodePort(30_000)])).toBe(false);
        expect(rules.set("default/web", [])).toBe(false);
        expect(rules.set("default/api", [])).toBe(true);
        await rules.ensure();
        expect(scripts.at(-1)).toBe("delete element inet antrea-services nodeports4 { 6 . 30000 }\n");
    });
});
