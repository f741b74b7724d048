import { beforeEach, describe, expect, it } from "@jest/globals";
import { learnedCookie, Table } from "@antrea/flows";
import { OpenFlowError, type BundleMod } from "@antrea/openflow";
import { type ServedService } from "@antrea/services";
import { LearnedFlows } from "../../../src/features/services/learned-flows.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { endpointsAt, portAt, serviceWith } from "./examples.ts";

const { signal } = new AbortController();
const endpoints = endpointsAt("10.10.1.2", "10.10.1.3");
const http = portAt("10.96.0.1", endpoints, { name: "http" });
const https = portAt("10.96.0.1", endpoints, { name: "https", port: 443 });
const sticky = (more: Partial<ServedService> = {}): ServedService =>
    serviceWith([http, https], { affinitySeconds: 60, ...more });

let sent: BundleMod[];
let logged: LogEntry[];
let failure: Error | undefined;
let learned: LearnedFlows;

beforeEach(() => {
    [sent, logged, failure] = [[], [], undefined];
    const bundle = (mods: readonly BundleMod[]): Promise<void> => {
        sent.push(...mods);
        return failure === undefined ? Promise.resolve() : Promise.reject(failure);
    };
    learned = new LearnedFlows({ openflow: { bundle }, logger: listLogger(logged) });
});

describe("learned flows", () => {
    it.each<[string, ServedService | undefined, ServedService | undefined, readonly string[]]>([
        ["a Service that is gone", sticky(), undefined, ["http", "https"]],
        ["a port that is gone", sticky(), sticky({ ports: [https] }), ["http"]],
        ["affinity that is off", sticky(), sticky({ affinitySeconds: undefined }), ["http", "https"]],
        ["another timeout", sticky(), sticky({ affinitySeconds: 61 }), ["http", "https"]],
        ["a Service that was made anew", sticky(), sticky({ uid: "uid-2" }), ["http", "https"]],
        ["nothing", sticky(), sticky(), []],
        ["affinity that is on now", serviceWith([http]), sticky(), []],
        ["a Service without affinity", serviceWith([http]), undefined, []],
        ["a new Service", undefined, sticky(), []],
    ])("of %s are deleted", async (_name, before, after, names) => {
        await learned.changed(before, after, signal);
        expect(sent).toEqual(
            names.map((name) => ({
                command: "delete",
                flow: { table: Table.SessionAffinity, match: {}, cookie: learnedCookie("uid-web", name, 4) },
                cookieMask: 0xffff_ffff_ffff_ffffn,
            })),
        );
    });

    it("that cannot be deleted are logged, and do not keep the change from being made", async () => {
        failure = new OpenFlowError("DISCONNECTED", "environment", "away");
        await learned.changed(sticky(), undefined, signal);
        expect(logged).toMatchObject([{ level: "debug", fields: { service: "default/web", reason: "away" } }]);
    });
});
