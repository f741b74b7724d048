import { afterEach, expect, it } from "@jest/globals";
import { settle } from "@antrea/async/testing";
import type { EventInput, Pod } from "@antrea/kube";
import { networksAnnotation, statusAnnotation } from "@antrea/networks";
import { Jobs, Metrics } from "@antrea/runtime";
import { annotationHash } from "../../../src/features/networks/annotation-hash.ts";
import { podNetworks } from "../../../src/features/networks/feature.ts";
import type { CniFiles } from "../../../src/features/networks/who-attaches.ts";
import type { NodePlatform } from "../../../src/platform/node-platform.ts";
import { NetworkInterfaces, PodInterfaces } from "../../../src/platform/pod-interfaces/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { networkRecord, podRecord } from "../../support/records.ts";

const end = new AbortController();
afterEach(() => end.abort());

/** What an agent writes on the Pod of a container that an earlier start has wired; `plugin` is called first. */
async function writtenAtStart(
    plugin: string,
    { networksHash, pod, record }: { networksHash?: string; pod?: Pod; record?: (event: EventInput) => void } = {},
): Promise<readonly string[]> {
    const own = podRecord({ network: "antrea", podUid: "uid", ...(networksHash !== undefined && { networksHash }) });
    const podInterfaces = new PodInterfaces();
    const interfaces = new NetworkInterfaces();
    podInterfaces.put({ record: own, ofPort: 1, addedAt: 0 });
    interfaces.put(networkRecord({ podUid: "uid" }));
    const written: string[] = [];
    const api = {
        find: () =>
            Promise.resolve({ metadata: { namespace: "default", name: "web-0", uid: "uid", resourceVersion: "1" } }),
        patch: (_resource: unknown, _ref: unknown, { body }: { readonly body: Pod }) => {
            written.push(body.metadata?.annotations?.[statusAnnotation] ?? "");
            return Promise.resolve({});
        },
    };
    const jobs = new Jobs({ logger: silentLogger });
    const platform = {
        environment: { cniConfFolder: "/etc/cni/net.d", nodeName: "worker" },
        events: { record },
        jobs,
        kube: { api },
        logger: silentLogger,
        metrics: new Metrics({ processMetrics: false }),
        podInterfaces,
        podMtu: () => 1400,
    } as unknown as NodePlatform;
    const cniFiles: CniFiles = {
        list: () => Promise.resolve(["10-first.conflist"]),
        read: () => Promise.resolve(JSON.stringify({ plugins: [{ type: plugin }] })),
    };
    const feature = podNetworks(
        platform,
        {
            bridge: undefined,
            pools: undefined,
            findDevices: () => Promise.resolve([]),
            interfaces,
            pods: { onChange: () => ({ [Symbol.dispose]: () => undefined }), get: () => pod },
        },
        { cniFiles },
    );
    await feature.start?.(end.signal);
    jobs.start(end.signal);
    await settle();
    await jobs.stop();
    await feature.stop?.({ signal: end.signal, reason: "shutdown" } as never);
    return written;
}

it("reports what an earlier start of the agent has made and may not have reported", async () => {
    const [text = "[]", ...more] = await writtenAtStart("antrea");
    expect(JSON.parse(text)).toMatchObject([
        { name: "antrea", interface: "eth0", mtu: 1400, default: true },
        { name: "default/net1", interface: "eth1", mtu: 1500, dns: {} },
    ]);
    expect(more).toEqual([]);
});

it("leaves that to a meta plugin, if one is called first", async () => {
    expect(await writtenAtStart("multus")).toEqual([]);
});

it.each([
    ["antrea", "net1", []],
    ["antrea", "net2", ["NetworksChangeIgnored web-0"]],
    ["multus", "net2", []],
])(
    "reports a change of the annotation while the agent was down: with %s first and %s in it",
    async (plugin, text, events) => {
        const podWith = (networks: string): Pod => {
            const annotations = { [networksAnnotation]: networks };
            return { metadata: { namespace: "default", name: "web-0", uid: "uid", annotations } } as unknown as Pod;
        };
        const recorded: string[] = [];
        await writtenAtStart(plugin, {
            networksHash: annotationHash(podWith("net1")),
            pod: podWith(text),
            record: ({ reason, regarding }) => recorded.push(`${reason} ${regarding.name}`),
        });
        expect(recorded).toEqual(events);
    },
);
