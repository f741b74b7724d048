import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { nodesFromWorker } from "../fixture/cluster.ts";
import { families, type FamilyName, ofFamily } from "../fixture/addresses.ts";
import { cellOf, type Cells, explore, paths, servedIn, setStage, type Stage } from "../fixture/matrix.ts";
import { answersPings } from "../fixture/pings.ts";
import { hostPort } from "../fixture/pods.ts";

describe("connectivity", () => {
    let stage: Stage;
    let cells: Cells;

    beforeAll(async () => {
        stage = await setStage("e2e-connectivity", nodesFromWorker);
        cells = await explore("noEncap", stage, nodesFromWorker);
    });
    afterAll(() => stage.namespace[Symbol.asyncDispose]());

    it.each(paths.flatMap((path) => families.map((family) => cellOf(path, family))))("%s", (cell) => {
        expect(cells.get(cell)).toBe("ok");
    });

    // kube-proxy selects at random: 40 requests miss one of three Pods once in four million runs
    it.each(families)("a Pod of a Service reaches itself by it over %s", async (family) => {
        const { namespace, near, far } = stage;
        const ip = ofFamily((await servedIn(namespace)).spec.clusterIPs, family);
        const request = `curl -sS -m 5 http://${hostPort(ip, 80)}/hostname; echo`;
        const output = await namespace.exec(near.name, `set -e; for n in $(seq 40); do ${request}; done`, 60_000);
        expect(new Set(output.trim().split("\n"))).toEqual(new Set([near, ...far].map(({ name }) => name)));
    });

    describe("with a spoofed source", () => {
        it.each(families)("drops %s packets from an address that is not the Pod's", async (family: FamilyName) => {
            const { namespace, client, near, far } = stage;
            const [own, other] = family === "IPv4" ? [client.ip4, near.ip4] : [client.ip6, near.ip6];
            const target = family === "IPv4" ? far[1].ip4 : far[1].ip6;
            const candidates = family === "IPv4" ? ["250", "251"] : ["fafa", "fafb"];
            const spoofed = candidates.map((end) => other.replace(/[0-9a-f]+$/, end)).find((ip) => ip !== own) ?? "";
            const [flag, length] = family === "IPv4" ? ["-4", 32] : ["-6", 128];
            const nodad = family === "IPv4" ? "" : "nodad";
            await namespace.exec(client.name, `ip address add ${spoofed}/${length} dev eth0 ${nodad}`);
            try {
                const spoof = `ping ${flag} -c 3 -i 0.2 -W 1 -I ${spoofed} ${target}`;
                await expect(namespace.exec(client.name, spoof)).rejects.toThrow("100% packet loss");
                await namespace.exec(client.name, answersPings(target, { options: `${flag} -I ${own}` }));
            } finally {
                await namespace.exec(client.name, `ip address del ${spoofed}/${length} dev eth0`);
            }
        });

        it("drops frames with another MAC address", async () => {
            const { namespace, client, near } = stage;
            const mac = (await namespace.exec(client.name, "cat /sys/class/net/eth0/address")).trim();
            const set = (address: string): string => `ip link set eth0 address ${address}`;
            const script = `${set("02:00:00:00:00:99")}; ping -c 3 -i 0.2 -W 1 ${near.ip4}; code=$?; ${set(mac)}; exit $code`;
            await expect(namespace.exec(client.name, script)).rejects.toThrow("100% packet loss");
        });
    });
});
