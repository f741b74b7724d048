import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { answer, refused } from "../fixture/admission.ts";
import { apply, kubectl, scaleTo, systemNamespace } from "../fixture/cluster.ts";
import { antctl, poolManifest, poolsKey, setIpam, TestPools } from "../fixture/ipam.ts";
import { TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { rolledOut, statefulSet } from "../fixture/workloads.ts";

// not concurrently with other suites, all of which would be without webhook and controller
describe("a webhook of IPAM", () => {
    const gateway = { gateway: "10.28.0.1", prefixLength: 24 };
    const pool = poolManifest("e2e-away-new", {
        start: "10.28.9.10",
        end: "10.28.9.20",
        gateway: "10.28.9.1",
        prefixLength: 24,
    });
    let namespace: TestNamespace;
    let pools: TestPools;

    beforeAll(async () => {
        await setIpam(true);
        namespace = await TestNamespace.create("e2e-ipam-away", { [poolsKey]: "e2e-away" });
        pools = await TestPools.create({
            "e2e-away": [{ start: "10.28.0.10", end: "10.28.0.30", ...gateway }],
            "e2e-away-other": [{ start: "10.28.1.10", end: "10.28.1.30", gateway: "10.28.1.1", prefixLength: 24 }],
        });
        await apply(
            statefulSet(namespace.name, { name: "web", replicas: 1, annotations: { [poolsKey]: "e2e-away-other" } }),
        );
        await rolledOut(namespace.name, "statefulset/web");
        await namespace.start([{ name: "user" }]);
    });
    afterAll(async () => {
        await namespace[Symbol.asyncDispose]();
        await pools[Symbol.asyncDispose]();
    });

    it("has let in Pods, and antctl finds nothing wrong with their addresses", async () => {
        await antctl(["ipam", "check"]);
    });

    it("that is away keeps no Pod from starting, and lets no pool be made", async () => {
        const [before] = await namespace.ready(["web-0"]);
        await scaleTo({ "antrea-webhook": 0, "antrea-controller": 0 });
        try {
            await eventually("webhook and controller are gone", async () => {
                const selector = "component in (antrea-webhook,antrea-controller)";
                const names = await kubectl(["-n", systemNamespace, "get", "pods", "-l", selector, "-o", "name"]);
                return names === "" ? true : undefined;
            });
            const [plain] = await namespace.start([{ name: "plain" }]);
            expect(plain?.ip4).toMatch(/^10\.28\.0\./);
            await namespace.delete("web-0");
            await eventually("the set makes its Pod again", () => namespace.ready(["web-0"]));
            expect((await namespace.ready(["web-0"]))[0]?.ip4).toBe(before?.ip4);
            await refused(pool, "ippools.antrea.io");
        } finally {
            await scaleTo({ "antrea-webhook": 2, "antrea-controller": 1 });
            await rolledOut(systemNamespace, "deployment/antrea-webhook");
            await rolledOut(systemNamespace, "deployment/antrea-controller");
        }
        await eventually("pools are judged again", async () => ((await answer(pool)).accepted ? true : undefined));
        await namespace.delete("plain");
        await kubectl(["-n", namespace.name, "delete", "statefulset", "web"]);
    });
});
