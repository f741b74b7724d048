import { beforeEach, describe, expect, it } from "@jest/globals";
import type { EventInput } from "@antrea/kube";
import type { ServedHealthCheck } from "@antrea/services";
import { ServiceChecks } from "../../../src/features/service-health/service-checks.ts";

let calls: string[];
let events: EventInput[];
let checks: ServiceChecks;

beforeEach(() => {
    [calls, events] = [[], []];
    const ports = {
        set: (key: string, { port }: { readonly port: number }) => void calls.push(`set ${key} ${port}`),
        delete: (key: string) => void calls.push(`delete ${key}`),
    };
    const record = (event: EventInput): void => void events.push(event);
    checks = new ServiceChecks({ ports, isHealthy: () => true, record }, { nodeName: "here", addresses: [] });
});

const at = (port: number, localEndpoints = 1): { readonly uid: string; readonly healthCheck: ServedHealthCheck } => ({
    uid: "u",
    healthCheck: { port, localEndpoints },
});

describe("the ports of health checks", () => {
    it("change with the number alone", () => {
        const changed = [
            checks.installed("shop/web", at(31_000)),
            checks.installed("shop/web", at(31_000, 2)),
            checks.installed("shop/web", at(31_001, 2)),
            checks.installed("shop/web", { uid: "u", healthCheck: undefined }),
            checks.installed("shop/web", undefined),
            checks.installed("shop/other", { uid: "v", healthCheck: undefined }),
        ];
        expect(changed).toEqual([true, false, true, true, false, false]);
        expect(calls.filter((call) => call.startsWith("set"))).toEqual(["set shop/web 31000", "set shop/web 31001"]);
        expect(calls.filter((call) => call === "delete shop/web").length).toBe(2);
    });

    it("are the subject of an event while there is a Service", () => {
        checks.installed("shop/web", at(31_000));
        checks.failed("shop/web", 31_000, "another program listens at port 31000");
        checks.failed("proxy", 10_256, "another program listens at port 10256");
        checks.installed("shop/web", undefined);
        checks.failed("shop/web", 31_000, "another program listens at port 31000");
        expect(events).toEqual([
            {
                type: "Warning",
                reason: "FailedToStartServiceHealthcheck",
                action: "Listen",
                regarding: expect.objectContaining({
                    kind: "Service",
                    namespace: "shop",
                    name: "web",
                    uid: "u",
                }) as unknown,
                note:
                    "spec.healthCheckNodePort: 31000 is not served on Node here: another program listens at port 31000; load " +
                    "balancers take the Node for one without endpoints; next: find the program on the Node " +
                    "(ss -ltnp sport = :31000) and end it",
            },
        ]);
    });
});
