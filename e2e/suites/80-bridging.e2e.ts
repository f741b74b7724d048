import { beforeAll, describe, expect, it } from "@jest/globals";
import {
    bridged,
    kindName,
    kinds,
    linkStateOf,
    macOfNode,
    nic,
    setBridging,
    setBridgingStage,
    vlanPod,
    type BridgingStage,
    type Kind,
} from "../fixture/bridging.ts";
import { pingBytes, watchPings, type Sightings } from "../fixture/bridging-capture.ts";
import { everyPair, exploreBridging, pairOf, warmUpBridging } from "../fixture/bridging-matrix.ts";
import { expectedSights, type End } from "../fixture/bridging-ways.ts";
import { allNodes, nodeObject, onNode, systemNamespace, workers } from "../fixture/cluster.ts";
import { FixtureError } from "../fixture/error.ts";
import { setIpam, TestPools } from "../fixture/ipam.ts";
import { families, ipOf, ofFamily, type FamilyName } from "../fixture/addresses.ts";
import { cellOf, moveBulk, type Cells } from "../fixture/matrix.ts";
import { answersPings } from "../fixture/pings.ts";
import { TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually, run } from "../fixture/run.ts";
import {
    onOutside,
    onRouter,
    outside,
    pingFromRouter,
    plugRouter,
    poolRanges,
    routerMacs,
    type Vlan,
} from "../fixture/vlan-router.ts";

const [first = "", second = ""] = workers;

describe("bridging mode", () => {
    let before: readonly object[];
    let stage: BridgingStage;

    beforeAll(async () => {
        await setIpam(true);
        await plugRouter();
        before = await Promise.all(allNodes.map(linkStateOf));
        await setBridging(true);
        await bridged();
        // the next suite reuses Pods and pools
        const namespace = await TestNamespace.create("e2e-bridging");
        await TestPools.create(await poolRanges());
        stage = await setBridgingStage(namespace, [first, second]);
        await warmUpBridging(stage);
    });

    it.each(allNodes)("leaves %s its addresses, routes and rules", async (node) => {
        expect(await linkStateOf(node)).toEqual(before[allNodes.indexOf(node)]);
        const physical = JSON.parse(await onNode(node, ["ip", "-j", "address", "show", "dev", nic])) as {
            addr_info: object[];
        }[];
        expect(physical[0]?.addr_info).toEqual([]);
    });

    it("reports in the agents' logs that production wants another datapath", async () => {
        const selector = ["-l", "component=antrea-agent", "-c", "antrea-agent", "--tail=-1"];
        const log = await run("kubectl", ["-n", systemNamespace, "logs", ...selector]);
        expect(log).toContain("use system in production");
    });

    describe("who reaches whom", () => {
        let cells: Cells;

        beforeAll(async () => {
            cells = await exploreBridging(stage);
        });

        it.each(everyPair.flatMap(([from, to]) => families.map((family) => cellOf(pairOf(from, to), family))))(
            "from %s",
            (cell) => {
                expect(cells.get(cell)).toBe("ok");
            },
        );

        it.each([
            ["VLAN 0 there", 0, 0],
            ["VLAN 2 there", 2, 2],
            ["another VLAN", 2, 3],
            ["a subnet Pod", 2, "subnet"],
        ] as const)("moves a megabyte to %s and back", async (_, from, to) => {
            for (const family of families) {
                await moveBulk(stage.namespace, stage.clients[from], stage.far[to], family);
                await moveBulk(stage.namespace, stage.far[to], stage.clients[from], family);
            }
        });

        it.each(families)("shows Services the Pods' own %s addresses", async (family) => {
            for (const kind of kinds) {
                const pod = stage.clients[kind];
                const flag = family === "IPv4" ? "-4" : "-6";
                const seen = await stage.namespace.exec(pod.name, `curl ${flag} -sS -m 5 http://server/clientip`);
                expect(seen.replace(/:\d+$/, "").replaceAll(/[[\]]/g, "")).toBe(ipOf(pod, family));
            }
        });

        it.each(families)("shows the outside the Pods' own %s addresses", async (family) => {
            const url = `http://${family === "IPv4" ? outside.ip4 : `[${outside.ip6}]`}:8080/clientip`;
            for (const kind of kinds) {
                const pod = stage.clients[kind];
                const seen = await stage.namespace.exec(pod.name, `curl -sS -m 5 ${url}`);
                expect(seen.replace(/:\d+$/, "").replaceAll(/[[\]]/g, "")).toBe(ipOf(pod, family));
            }
        });
    });

    describe("the way of a ping", () => {
        /** The clients that are bridged Pods, and all their destinations. */
        const clients = kinds.filter((kind): kind is Vlan => kind !== "subnet");
        const journeys: readonly (readonly [from: string, to: string])[] = [
            ...clients.flatMap((kind) =>
                everyPair
                    .filter(([from, to]) => from === kindName(kind) && to !== "Service")
                    .map(([, to]) => [kindName(kind), to] as const),
            ),
            ...clients.flatMap((kind) =>
                ["here", "there"].map((where) => ["subnet Pod", `${kindName(kind)} ${where}`] as const),
            ),
        ];
        let sightings: Sightings;
        let ends: Readonly<Record<string, { readonly end: End; readonly ip: (family: FamilyName) => string }>>;
        let router: Readonly<Record<Vlan, string>>;

        beforeAll(async () => {
            const { namespace, clients: looking, near, far } = stage;
            router = await routerMacs();
            const nodes = await Promise.all(
                [first, second].map(async (node) => ({
                    node,
                    mac: await macOfNode(node),
                    ips: (await nodeObject(node)).status.addresses.map(({ address }) => address),
                })),
            );
            const podEnd = async (kind: Kind, pod: TestPod): Promise<End> => {
                const own = async (): Promise<string> =>
                    (await namespace.exec(pod.name, "cat /sys/class/net/eth0/address")).trim();
                const mac = kind === "subnet" ? nodes.find(({ node }) => node === pod.node)?.mac : await own();
                return { is: "pod", kind, node: pod.node, mac: mac ?? "" };
            };
            const ofPod = async (kind: Kind, pod: TestPod): Promise<(typeof ends)[string]> => ({
                end: await podEnd(kind, pod),
                ip: (family) => ipOf(pod, family),
            });
            const ofNode = (index: number): (typeof ends)[string] => {
                const { node = "", mac = "", ips = [] } = nodes[index] ?? {};
                return {
                    end: { is: "node", node, mac },
                    ip: (family) => ofFamily(ips, family),
                };
            };
            const entries = await Promise.all(
                kinds.flatMap((kind) => [
                    ofPod(kind, looking[kind]).then((one) => [kindName(kind), one] as const),
                    ofPod(kind, near[kind]).then((one) => [`${kindName(kind)} here`, one] as const),
                    ofPod(kind, far[kind]).then((one) => [`${kindName(kind)} there`, one] as const),
                ]),
            );
            ends = {
                ...Object.fromEntries(entries),
                "own Node": ofNode(0),
                "other Node": ofNode(1),
                outside: { end: { is: "outside" }, ip: (family) => ipOf(outside, family) },
            };
            sightings = await watchPings([first, second], async () => {
                for (const kind of kinds) {
                    const addresses = journeys
                        .filter(([from]) => from === kindName(kind))
                        .flatMap(([, to]) => families.map((family) => ends[to]?.ip(family) ?? ""));
                    // the first packet may be lost on a busy machine
                    const ping = (ip: string): string => `ping -c 1 -W 2 -s ${pingBytes} ${ip}`;
                    const script = addresses.map((ip) => `${ping(ip)} || ${ping(ip)} || echo lost: ${ip}`).join("\n");
                    expect(await namespace.exec(looking[kind].name, script, 60_000)).not.toContain("lost");
                }
            });
        });

        it.each(journeys.flatMap(([from, to]) => families.map((family) => [from, to, family] as const)))(
            "from %s to %s over %s is the one that is promised: hops, tags and MAC addresses",
            (from, to, family) => {
                const [one, other] = [ends[from], ends[to]];
                if (one === undefined || other === undefined)
                    throw new FixtureError("NOT_SET_UP", "internal", `no end ${from} or ${to}`);
                const [ip, target] = [one.ip(family), other.ip(family)];
                for (const [node, sight] of expectedSights(one.end, other.end, router))
                    expect([node, sightings.of(node, ip, target)]).toEqual([node, sight]);
                for (const [node, sight] of expectedSights(other.end, one.end, router))
                    expect([node, sightings.of(node, target, ip, "reply")]).toEqual([node, sight]);
            },
        );
    });

    describe("what no Pod gets or sends", () => {
        it.each([0, 2] as const)("unknown unicast of VLAN %i does not reach Pods", async (vlan) => {
            const { namespace, clients } = stage;
            const pod = clients[vlan];
            const stranger = "02:00:00:00:00:fa";
            const address = pod.ip4.replace(/\d+$/, "251");
            await onRouter(["ip", "neighbour", "replace", address, "lladdr", stranger, "dev", `vlan${vlan}`]);
            try {
                const file = `/tmp/unicast-${vlan}`;
                const tcpdump = "timeout 60 tcpdump -Z root -i eth0 -e -nn -l --immediate-mode -s 256 -B 4096 icmp";
                const dump = `echo root:x:0:0::/:/bin/sh >/etc/passwd; ${tcpdump} >${file} 2>&1 &`;
                await namespace.exec(pod.name, dump);
                await eventually("tcpdump listens", () => namespace.exec(pod.name, `grep 'listening on' ${file}`));
                await pingFromRouter(["-c", "3", "-i", "0.2", "-W", "1", address]).catch(() => undefined);
                // the following packet to the Pod shows that tcpdump works
                await pingFromRouter(["-c", "1", "-W", "2", pod.ip4]);
                const output = await eventually("the Pod's own frame is seen", async () => {
                    const text = await namespace.exec(pod.name, `cat ${file}`);
                    return text.includes(`> ${pod.ip4}: ICMP echo request`) ? text : undefined;
                });
                expect(output).not.toContain(stranger);
            } finally {
                await onRouter(["ip", "neighbour", "del", address, "dev", `vlan${vlan}`]);
            }
        });

        it.each(families)("a Pod of a VLAN sends nothing from an %s address that is not its own", async (family) => {
            const { namespace, clients, near, far } = stage;
            const own = ipOf(clients[2], family);
            const spoofed = ipOf(near[2], family).replace(/[0-9a-f]+$/, family === "IPv4" ? "250" : "fafa");
            const [length, nodad] = family === "IPv4" ? ["32", ""] : ["128", "nodad"];
            await namespace.exec("client-2", `ip address add ${spoofed}/${length} dev eth0 ${nodad}`);
            try {
                for (const to of [near[2], far[2], far[3]]) {
                    const spoof = `ping -c 2 -i 0.2 -W 1 -I ${spoofed} ${ipOf(to, family)}`;
                    await expect(namespace.exec("client-2", spoof)).rejects.toThrow("100% packet loss");
                }
                await namespace.exec("client-2", answersPings(ipOf(far[3], family), { options: `-I ${own}` }));
            } finally {
                await namespace.exec("client-2", `ip address del ${spoofed}/${length} dev eth0`);
            }
        });

        it("a Pod of a VLAN sends nothing with another MAC address", async () => {
            const { namespace, clients, far } = stage;
            const mac = (await namespace.exec("client-2", "cat /sys/class/net/eth0/address")).trim();
            const set = (address: string): string => `ip link set eth0 address ${address}`;
            const ping = `ping -c 3 -i 0.2 -W 1 ${far[2].ip4}`;
            const script = `${set("02:00:00:00:00:99")}; ${ping}; code=$?; ${set(mac)}; exit $code`;
            await expect(namespace.exec("client-2", script)).rejects.toThrow("100% packet loss");
            await eventually("it is reached again", () => onOutside(`ping -c 1 -W 1 ${clients[2].ip4}`));
        });
    });

    it("a new Pod is reached at once, whatever neighbours remember of its address", async () => {
        const { namespace } = stage;
        const { ip4, ip6 } = stage.far[3];
        const spec = vlanPod("far-3", 3, first);
        await onOutside(`ping -c 1 -W 2 ${ip4}; ping -c 1 -W 2 ${ip6}`);
        await namespace.delete("far-3");
        const annotations = { ...spec.annotations, "ipam.antrea.io/pod-ips": `${ip4},${ip6}` };
        const started = eventually("the address is free again", () =>
            namespace.start([{ ...spec, annotations, labels: { role: "far" } }]),
        );
        await started;
        for (const ip of [ip4, ip6]) await onOutside(answersPings(ip, { waitS: 1 }));
        // it is recreated on the other Node
        await namespace.delete("far-3");
    });
});
