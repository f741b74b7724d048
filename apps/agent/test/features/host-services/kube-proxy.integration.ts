import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { kubeProxyConfig, Program, programPath } from "@antrea/kube/testing";
import { eventually } from "../../support/eventually.ts";
import type { ProgramPlace } from "../../support/pod-programs.ts";
import { nodeName, type ServiceCluster } from "../services/service-cluster.ts";
import { gatewayIps, heard, NodeNetwork, nodeIps, outsideIps, run } from "./node-network.ts";

/** kube-proxy in mode nftables, on the Node of the test. */
class KubeProxy implements AsyncDisposable {
    readonly #folder = mkdtempSync(join(tmpdir(), "kube-proxy-"));
    readonly #program: Program;

    constructor({ server }: ServiceCluster) {
        const path = join(this.#folder, "config");
        // the agent of the test answers load balancers
        const more = { healthzBindAddress: "" };
        writeFileSync(path, kubeProxyConfig({ nodeName, kubeconfig: server.kubeconfig() }, more));
        this.#program = new Program("kube-proxy", programPath("kube-proxy"), ["--config", path]);
    }

    /** Waits until one of its maps has this address. */
    async knows(family: 4 | 6, map: "service-ips" | "no-endpoint-services", ip: string): Promise<void> {
        const listed = (): string => {
            this.#program.check();
            try {
                return run("nft", "list", "map", family === 4 ? "ip" : "ip6", "kube-proxy", map);
            } catch {
                return ""; // its table is not there yet
            }
        };
        const text = await eventually(listed, (found) => found.includes(` ${ip} . tcp`), 20_000);
        expect(text).toContain(` ${ip} . tcp`);
    }

    /** Its rules stay as they are until `goOn`. */
    pause(): void {
        this.#program.signal("SIGSTOP");
    }

    goOn(): void {
        this.#program.signal("SIGCONT");
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#program.kill();
        rmSync(this.#folder, { recursive: true });
    }
}

let network: NodeNetwork;
let proxy: KubeProxy;
let name = "";
let count = 0;

beforeAll(async () => {
    network = await NodeNetwork.start();
    proxy = new KubeProxy(network.cluster);
});
afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]();
    await network?.[Symbol.asyncDispose]();
});
afterEach(async () => {
    proxy.goOn();
    await network.cluster.deleteService(name);
});

// who answers shows who served: kube-proxy is stopped before the endpoint becomes Pod a, and leads to what it has seen
describe.each([4, 6] as const)("over IPv%d beside kube-proxy in mode nftables", (family) => {
    const external = family === 4 ? "198.51.100.7" : "2001:db8:1::7";

    it.each([
        ["leads to another Pod", "service-ips"],
        ["rejects, as it has seen no endpoint", "no-endpoint-services"],
    ] as const)("OVS serves what kube-proxy %s", async (_what, map) => {
        count += 1;
        name = `beside-${count}`;
        const { vips, ...nodePorts } = await network.addService(name, { type: "NodePort", externalIPs: [external] });
        const serve = (pod: number): Promise<void> => network.setEndpoints(name, family, [network.pod(pod, family)]);
        if (map === "service-ips") await serve(1);
        await proxy.knows(family, map, vips[family]);
        await proxy.knows(family, map, external);
        proxy.pause();
        await serve(0);
        const service = { tcp: 80, udp: 80 };
        const asked: readonly (readonly [ProgramPlace, string, typeof service, string])[] = [
            [undefined, vips[family], service, gatewayIps[family]],
            [undefined, external, service, nodeIps[family]],
            [undefined, nodeIps[family], nodePorts, nodeIps[family]],
            [network.outside, external, service, outsideIps[family]],
            [network.outside, nodeIps[family], nodePorts, outsideIps[family]],
            [network.pods[1], vips[family], service, network.pod(1, family)],
        ];
        for (const [from, host, at, client] of asked) {
            const wanted = `a ${client}`;
            expect([host, ...(await heard(from, host, { ...at, wanted }))]).toEqual([host, wanted, wanted]);
        }
    });
});
