import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { helmRollback, helmUpgrade, nodeObject, workers } from "../fixture/cluster.ts";
import { Outside } from "../fixture/outside.ts";
import { hostPort, TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually, run } from "../fixture/run.ts";

const families = ["IPv4", "IPv6"] as const;

describe("traffic to the outside", () => {
    let namespace: TestNamespace;
    let outside: Outside;
    let pod: TestPod;

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-outside");
        outside = await Outside.start();
        [pod] = (await namespace.start([{ name: "inside", node: workers[0] ?? "" }])) as [TestPod];
    }, 180_000);
    afterAll(async () => {
        await outside[Symbol.asyncDispose]();
        await namespace[Symbol.asyncDispose]();
    });

    const seenBy = async (family: (typeof families)[number]): Promise<string> => {
        const ip = family === "IPv4" ? outside.ip4 : outside.ip6;
        const seen = await namespace.exec("inside", `curl -sS -m 5 http://${hostPort(ip, 8080)}/clientip`);
        return seen.replace(/:\d+$/, "").replaceAll(/[[\]]/g, "");
    };

    it.each(families)("leaves with the Node's %s address", async (family) => {
        const addresses = (await nodeObject(pod.node)).status.addresses.map(({ address }) => address);
        const seen = await seenBy(family);
        expect(addresses).toContain(seen);
        expect(seen.includes(":")).toBe(family === "IPv6");
    });

    it("keeps the Pod's address with noSNAT, and a changed value restarts the agents but not the controller", async () => {
        const podsOf = (component: string): Promise<string> =>
            run("kubectl", [
                "-n",
                "kube-system",
                "get",
                "pods",
                "-l",
                `component=${component}`,
                "-o",
                "jsonpath={.items[*].metadata.uid}",
            ]);
        const before = { agents: await podsOf("antrea-agent"), controller: await podsOf("antrea-controller") };
        await helmUpgrade(["noSNAT=true"]);
        try {
            expect(await podsOf("antrea-controller")).toBe(before.controller);
            expect(await podsOf("antrea-agent")).not.toBe(before.agents);
            // the way back: the outside must know where Pods are, as it is nobody's default gateway
            const addresses = (await nodeObject(pod.node)).status.addresses.map(({ address }) => address);
            for (const [ip, flag, length] of [
                [pod.ip4, "-4", 32],
                [pod.ip6, "-6", 128],
            ] as const) {
                const via =
                    addresses.find((address) => address.includes(":") === ip.includes(":") && /[.:]/.test(address)) ??
                    "";
                await outside.exec(["ip", flag, "route", "replace", `${ip}/${length}`, "via", via]);
            }
            await eventually("masquerading ends", async () => ((await seenBy("IPv4")) === pod.ip4 ? true : undefined));
            expect(await seenBy("IPv6")).toBe(pod.ip6);
        } finally {
            await helmRollback();
        }
        const addresses = (await nodeObject(pod.node)).status.addresses.map(({ address }) => address);
        expect(addresses).toContain(await eventually("masquerading is back", async () => seenBy("IPv4")));
    });
});
