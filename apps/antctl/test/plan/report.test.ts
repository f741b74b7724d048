import { describe, expect, it } from "@jest/globals";
import { type IpPool } from "@antrea/crd";
import { refusalText } from "@antrea/ipam";
import { type Allocation } from "../../src/cluster/index.ts";
import { renderPlan } from "../../src/plan/render.ts";
import { planPool, type PoolPlan } from "../../src/plan/report.ts";
import { type Users } from "../../src/plan/users.ts";
import { type PoolSet } from "../../src/pools/index.ts";
import {
    allocation,
    node,
    node1,
    node2,
    ofSet,
    plain,
    pod,
    poolObject,
    poolSet,
    set,
    tiny,
    web,
} from "../support/objects.ts";
import { parseIp } from "@antrea/ip";

const nobody: Users = { namespaces: [], pods: [], workloads: [], networks: [] };

function plan(
    object: IpPool,
    o: { readonly allocations?: readonly Allocation[]; readonly users?: Users; readonly pools?: PoolSet } = {},
): Omit<PoolPlan, "server"> {
    return planPool({
        planned: { object, refusals: [] },
        pools: o.pools ?? poolSet(),
        allocations: o.allocations ?? [],
        users: o.users ?? nobody,
    });
}

const range = { gateway: "10.2.0.1", prefixLength: 24, vlan: 2 };

describe("planPool", () => {
    it("creates a pool that is right", () => {
        const planned = plan(poolObject("fresh", { cidr: "10.7.0.0/29", gateway: "10.7.0.1", prefixLength: 24 }));
        expect(planned).toMatchObject({
            action: "create",
            refused: false,
            overlaps: [],
            added: "10.7.0.2-10.7.0.6",
            removed: "",
            usage: { after: { total: 5, used: 0, reserved: 0, free: 5 } },
        });
        expect(planned.usage.before).toBeUndefined();
    });

    it("refuses an overlap and shows the common addresses", () => {
        const planned = plan(poolObject("fresh", { cidr: "10.3.0.0/28", gateway: "10.3.0.1", prefixLength: 24 }), {
            allocations: [allocation("10.3.0.8", { pool: "tiny", pod: "a" })],
        });
        expect(planned.refused).toBe(true);
        expect(planned.errors.map(refusalText).join()).toMatch(
            /overlaps IPPool "tiny": both have 10\.3\.0\.8-10\.3\.0\.9/,
        );
        expect(planned.overlaps).toEqual([{ pool: "tiny", addresses: "10.3.0.8-10.3.0.9" }]);
        expect(planned.usage.after).toEqual({ total: 13, used: 1, reserved: 0, free: 12 });
    });

    it("lets a pool in use grow", () => {
        const planned = plan(poolObject("web", { start: "10.2.0.10", end: "10.2.0.30", ...range }), {
            allocations: [allocation("10.2.0.12", { pod: "a" })],
        });
        expect(planned).toMatchObject({ action: "change", refused: false, removed: "", fallOut: [] });
        expect(planned.added).toBe("10.2.0.10-10.2.0.11, 10.2.0.21-10.2.0.30");
        expect(planned.usage).toEqual({
            before: { total: 9, used: 1, reserved: 0, free: 8 },
            after: { total: 21, used: 1, reserved: 0, free: 20 },
        });
    });

    it("refuses to shrink a pool in use, and reports whom it hits", () => {
        const users: Users = {
            namespaces: [
                { name: "shop", annotations: { "ipam.antrea.io/ippools": " web ,web6" } },
                { name: "x", annotations: {} },
            ],
            pods: [pod("p", { annotations: { "ipam.antrea.io/ippools": "web" } }), pod("q")],
            workloads: [
                set("db"),
                ...(["Deployment", "DaemonSet", "CronJob"] as const).map((kind) => set(`a-${kind}`, { kind })),
                set("other", { annotations: {} }),
            ],
            networks: [
                { namespace: "shop", name: "vlan2", config: '{"ipam": {"type": "antrea", "ippools": ["web"]}}' },
                {
                    namespace: "shop",
                    name: "static",
                    config: '{"ipam": {"type": "antrea", "addresses": [{"address": "10.2.0.13/24"}]}}',
                },
                { namespace: "shop", name: "other", config: '{"ipam": {"type": "antrea", "ippools": ["tiny"]}}' },
                { namespace: "shop", name: "bad", config: "{" },
            ],
        };
        const allocations = [
            allocation("10.2.0.12", { pod: "a" }),
            allocation("10.2.0.14", { pod: "b" }),
            allocation("10.2.0.13", { owner: ofSet("db", 1) }),
        ];
        const planned = plan(poolObject("web", { start: "10.2.0.14", end: "10.2.0.20", ...range }), {
            allocations,
            users,
        });
        expect(planned.refused).toBe(true);
        expect(planned.removed).toBe("10.2.0.12-10.2.0.13");
        expect(planned.fallOut).toEqual([
            { address: "10.2.0.12", state: "Allocated", holder: "Pod shop/a on Node node1" },
            { address: "10.2.0.13", state: "Reserved", holder: "StatefulSet shop/db ordinal 1 (reserved)" },
        ]);
        expect(planned.namedBy).toEqual({
            namespaces: ["shop"],
            pods: ["shop/p"],
            deployments: ["shop/a-Deployment"],
            statefulSets: ["shop/db"],
            daemonSets: ["shop/a-DaemonSet"],
            cronJobs: ["shop/a-CronJob"],
            networks: ["shop/vlan2", "shop/static"],
        });
        // Three are named; the networks are among the others.
        expect(planned.errors.map(({ rule }) => rule).join()).toContain("StatefulSet shop/db and 5 more");
    });

    it("reports that networks are not counted that may not be read", () => {
        const users: Users = { ...nobody, networks: undefined };
        const planned = plan(poolObject("web", { start: "10.2.0.10", end: "10.2.0.30", ...range }), { users });
        expect(planned.namedBy.networks).toBeUndefined();
        expect(planned.warnings.join()).toMatch(/may not list NetworkAttachmentDefinitions/);
    });

    it("lets an unused pool shrink, whatever its neighbours have", () => {
        const planned = plan(
            poolObject("tiny", { start: "10.3.0.8", end: "10.3.0.8", gateway: "10.3.0.1", prefixLength: 24 }),
            {
                allocations: [allocation("10.2.0.12", { pod: "a" })],
            },
        );
        expect(planned).toMatchObject({ refused: false, removed: "10.3.0.9" });
    });

    it("sees that nothing changes, whatever the order of fields", () => {
        const same: IpPool = { spec: { ipRanges: web.spec.ipRanges, ipVersion: 4 }, metadata: { name: "web" } };
        expect(plan(same)).toMatchObject({ action: "none", refused: false });
    });

    it("warns of addresses that are never handed out", () => {
        const planned = plan(poolObject("fresh", { cidr: "10.10.1.0/28", gateway: "10.10.1.1", prefixLength: 24 }));
        expect(planned).toMatchObject({ refused: false, added: "", usage: { after: { total: 0 } } });
        expect(planned.warnings.join()).toMatch(/has no address to hand out.*podCIDRs/);
    });

    it("keeps what a template of a DaemonSet or CronJob names from being taken away", () => {
        for (const kind of ["DaemonSet", "CronJob"] as const) {
            const users: Users = { namespaces: [], pods: [], workloads: [set("a", { kind })], networks: [] };
            const planned = plan(poolObject("web", { start: "10.2.0.14", end: "10.2.0.20", ...range }), { users });
            expect(planned.errors.map(refusalText).join()).toContain(`${kind} shop/a`);
        }
    });

    it("warns of a range without VLAN outside of the subnet of Nodes in bridging mode", () => {
        const bridged = node("node1", { addresses: [parseIp("192.168.0.1")], isBridged: true });
        const fresh = poolObject("fresh", { cidr: "10.7.0.0/29", gateway: "10.7.0.1", prefixLength: 24 });
        const warnings = (nodes: Parameters<typeof poolSet>[1]): string =>
            plan(fresh, { pools: poolSet([], nodes) }).warnings.join();
        expect(warnings([bridged, node2])).toMatch(/has no vlan, so with bridging mode/);
        expect(warnings([node1, node2])).toBe("");
    });

    it("takes what the schema refuses as it is", () => {
        const refusals = [{ path: "spec.ipRanges", value: "", rule: "expected array" }];
        const object = { metadata: { name: "web" }, spec: { ipRanges: 5 } } as unknown as IpPool;
        const planned = planPool({ planned: { object, refusals }, pools: poolSet(), allocations: [], users: nobody });
        expect(planned).toMatchObject({
            refused: true,
            errors: refusals,
            removed: "",
            usage: { before: { total: 9 } },
        });
    });
});

describe("renderPlan", () => {
    it("shows what is refused, what falls out, and how usage changes", () => {
        const allocations = [allocation("10.2.0.12", { pod: "a" })];
        const planned = plan(poolObject("web", { start: "10.2.0.14", end: "10.2.0.20", ...range }), { allocations });
        const text = renderPlan(
            {
                pools: [{ ...planned, server: { answer: "none", message: "you may not create or change IPPools" } }],
                ignored: ["ConfigMap c of v1"],
            },
            plain,
        );
        expect(text).toMatch(
            /^IPPool web: refused\nRefused by the rules of Antrea:\n {2}- spec\.ipRanges "10\.2\.0\.12-10\.2\.0\.13": cannot/,
        );
        expect(text).toMatch(/API server: +did not judge it: you may not/);
        expect(text).toMatch(/Loses: +10\.2\.0\.12-10\.2\.0\.13\n/);
        expect(text).toMatch(/Usage then: .* 0 used, 0 reserved, 7 free of 7\n/);
        expect(text).toMatch(/Named by: +nobody\n/);
        expect(text).toMatch(/10\.2\.0\.12 +Allocated +Pod shop\/a on Node node1\n/);
        expect(text).toMatch(/ConfigMap c of v1\n\nThe API server did not judge web: .*\n\nRefused: web$/);
        expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
    });

    it("does not say that nothing is refused when nobody but itself has judged", () => {
        const server = { answer: "none", message: "failed calling webhook" } as const;
        const text = renderPlan({ pools: [{ ...plan(tiny), server }], ignored: [] }, plain);
        expect(text).toMatch(/did not judge tiny: the rules above are those of antctl alone\.$/);
        expect(text).not.toMatch(/Nothing is refused/);
    });

    it("prints what the API server reports beyond the rules", () => {
        const planned = plan(poolObject("web", { start: "10.2.0.14", end: "10.2.0.20", ...range }), {
            allocations: [allocation("10.2.0.12", { pod: "a" })],
        });
        const shown = (message: string): string =>
            renderPlan({ pools: [{ ...planned, server: { answer: "refused", message } }], ignored: [] }, plain);
        expect(shown("strict decoding error")).toMatch(/refuses it too \(dry run\): strict decoding error\n/);
        expect(shown(`denied: ${planned.errors.map(refusalText).join("; ")}`)).toMatch(/refuses it too \(dry run\)\n/);
    });

    it("shows the API server's word where the rules have none", () => {
        const planned = plan(tiny);
        const text = renderPlan(
            { pools: [{ ...planned, refused: true, server: { answer: "refused", message: "denied" } }], ignored: [] },
            plain,
        );
        expect(text).toMatch(/Refused by the API server:\n {2}- denied\n/);
    });
});
