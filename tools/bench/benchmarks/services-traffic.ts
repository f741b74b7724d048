import { loads, type Load, type LoadPod } from "../data-plane/load-pod.ts";
import { curve } from "../growth/curve.ts";
import { comparison, type Result } from "../result.ts";
import { replacementIp } from "../services/service-objects.ts";
import { areSizesFull, sizes } from "../services/sizes.ts";
import { TrafficStage, type Mode, type Pair, type Target } from "../services/traffic-stage.ts";
import { median, rotated } from "../statistics.ts";

const unitOf: Readonly<Record<Load, string>> = { throughput: "Mbit/s", requests: "/s", connections: "/s" };
const titleOf: Readonly<Record<Load, string>> = {
    throughput: "TCP throughput",
    requests: "TCP requests and answers",
    connections: "TCP connections",
};
/** Of Pod to Service against Pod to Pod. */
const minToPods: Readonly<Record<Load, number>> = { throughput: 0.95, requests: 0.95, connections: 0.75 };
const min = { podToPeer: 1.2, hostToPeer: 0.9, outsideToPeer: 0.9, few: 0.9 };
const peer = "kube-proxy, nftables, and the agent without AntreaProxy";
const endpointCounts = areSizesFull ? [1, 10, 256, 1_000, 5_000] : [1, 10, 256];
const warmUpMs = 1_000;
/** First numbers of the addresses of the many endpoints of a Service. */
const manyAddresses = 500_000;

/** Traffic of one kind, between the ends that it has at this moment. */
interface Course {
    readonly id: string;
    readonly load: Load;
    readonly from: LoadPod;
    readonly to: LoadPod;
    /** Whether a run that does not count comes before: the switch is to know the endpoints. Default false. */
    readonly warmsUp?: boolean;
}

/** Traffic to Services against that to Pods, and against that by kube-proxy. */
export async function servicesTraffic(): Promise<readonly Result[]> {
    return [...(await withRoutes()), ...(await withTunnels())];
}

async function withRoutes(): Promise<readonly Result[]> {
    await using stage = await TrafficStage.start("noEncap", ["ours", "peer", "few"], sizes.services);
    const [ours, theirs, few] = [stage.pair("ours"), stage.pair("peer"), stage.pair("few")];
    const counts: Course[] = [];
    for (const [at, count] of endpointCounts.entries()) {
        const addresses = Array.from({ length: count }, (_, number) =>
            replacementIp(manyAddresses + at * 10_000 + number),
        );
        const { clusterIp } = await stage.addMany(at, addresses);
        counts.push({
            id: `endpoints-${count}`,
            load: "connections",
            from: ours.from,
            to: stage.outside.reachedAt(clusterIp),
            warmsUp: true,
        });
    }
    const figures = await measured([
        ...podCourses("same", ours, theirs, ({ same }) => same),
        ...podCourses("noencap", ours, theirs, ({ across }) => across),
        ...loads.flatMap((load) => [
            { id: "host", load, from: ours.host, to: toService(ours.same) },
            { id: "host peer", load, from: theirs.host, to: toService(theirs.same) },
            { id: "outside", load, from: stage.outside, to: toNodePort(ours) },
            { id: "outside peer", load, from: stage.outside, to: toNodePort(theirs) },
        ]),
        { id: "few", load: "connections", from: few.from, to: toService(few.same) },
        ...counts,
    ]);
    return [
        ...podResults(figures, "same", "same Node"),
        ...podResults(figures, "noencap", "across Nodes, noEncap"),
        ...peerResults(figures, "host", "a Node to a ClusterIP, same Node", min.hostToPeer),
        ...peerResults(figures, "outside", "outside to a NodePort", min.outsideToPeer),
        comparison({
            id: "services-traffic-few",
            what: `${titleOf.connections} to a ClusterIP, same Node, with ${sizes.services} Services`,
            peer: "the same with 10 Services",
            pairs: { ours: figures.of("same service", "connections"), peer: figures.of("few", "connections") },
            unit: unitOf.connections,
            minRatio: min.few,
        }),
        curve({
            id: "services-traffic-endpoints",
            what: `${titleOf.connections} to a ClusterIP`,
            unit: unitOf.connections,
            of: "endpoints",
            points: endpointCounts.map((x) => ({ x, value: median(figures.of(`endpoints-${x}`, "connections")) })),
        }),
    ];
}

async function withTunnels(): Promise<readonly Result[]> {
    await using stage = await TrafficStage.start("encap" satisfies Mode, ["ours", "peer"], sizes.services);
    const courses = podCourses("geneve", stage.pair("ours"), stage.pair("peer"), ({ across }) => across);
    return podResults(await measured(courses), "geneve", "across Nodes, geneve");
}

/** From a Pod to another one, by a Service of ours, and by kube-proxy. */
function podCourses(id: string, ours: Pair, theirs: Pair, targetOf: (pair: Pair) => Target): readonly Course[] {
    return loads.flatMap((load) => [
        { id: `${id} service`, load, from: ours.from, to: toService(targetOf(ours)) },
        { id: `${id} pod`, load, from: ours.from, to: targetOf(ours).pod },
        { id: `${id} peer`, load, from: theirs.from, to: toService(targetOf(theirs)) },
    ]);
}

function toService({ pod, service }: Target): LoadPod {
    return pod.reachedAt(service.clusterIp);
}

function toNodePort({ same, address }: Pair): LoadPod {
    return same.pod.reachedAt(address, same.service.nodePorts);
}

interface Figures {
    /** One figure for each round. */
    of(id: string, load: Load): readonly number[];
}

/** All courses one after another, in each round beginning with another one. */
async function measured(courses: readonly Course[]): Promise<Figures> {
    const figures = new Map<string, number[]>();
    // a load to an address that nobody serves would wait for minutes, and fail then
    for (const { from, to } of courses) await from.connects(to);
    for (let round = 0; round < sizes.rounds; round++) {
        for (const { id, load, from, to, warmsUp } of rotated(
            courses,
            round * Math.ceil(courses.length / sizes.rounds),
        )) {
            const key = `${id} ${load}`;
            if (warmsUp === true) await from.measure(load, to, warmUpMs);
            figures.set(key, [...(figures.get(key) ?? []), await from.measure(load, to, sizes.loadMs)]);
        }
    }
    return { of: (id, load) => figures.get(`${id} ${load}`) ?? [] };
}

function podResults(figures: Figures, id: string, where: string): readonly Result[] {
    return loads.flatMap((load) => {
        const ours = figures.of(`${id} service`, load);
        const against = (to: "pod" | "peer", name: string, minRatio: number): Result =>
            comparison({
                id: `services-traffic-${id}-${load}-${to}`,
                what: `${titleOf[load]}, Pod to a ClusterIP, ${where}`,
                peer: name,
                pairs: { ours, peer: figures.of(`${id} ${to}`, load) },
                unit: unitOf[load],
                minRatio,
            });
        return [against("pod", "Pod to Pod, the same two", minToPods[load]), against("peer", peer, min.podToPeer)];
    });
}

function peerResults(figures: Figures, id: string, what: string, minRatio: number): readonly Result[] {
    return loads.map((load) =>
        comparison({
            id: `services-traffic-${id}-${load}`,
            what: `${titleOf[load]}, ${what}`,
            peer,
            pairs: { ours: figures.of(id, load), peer: figures.of(`${id} peer`, load) },
            unit: unitOf[load],
            minRatio,
        }),
    );
}
