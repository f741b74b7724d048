import { ipPools } from "@antrea/crd";
import { type TestApiServer } from "@antrea/kube/testing";
import { agentKubeconfig } from "@antrea/chart/testing/chart-server";
import { allocationsOfPods } from "../allocations-of-pods.ts";
import { Helper } from "../helper.ts";
import { ApiServerMeter, spent } from "../meter.ts";
import { shimPath, workPath } from "../paths.ts";
import { type AllocatorInput } from "./allocator-server.ts";
import { capacityOf24, type IpamSubject } from "./subject.ts";

/** Name of the IPPool. */
export const pool = "ipam";
const nodeName = "ipam-node";

/** Creates the IPPool of all containers. */
export async function createPool(server: TestApiServer): Promise<void> {
    const range = { cidr: "10.80.0.0/24", gateway: "10.80.0.1", prefixLength: 24 };
    await server.clients().api.create(ipPools, { metadata: { name: pool }, spec: { ipVersion: 4, ipRanges: [range] } });
}

/** `antrea-cni` with the agent's CNI server and allocation on a real API server, without wiring. */
export async function startAllocator(server: TestApiServer): Promise<IpamSubject> {
    const { api } = server.clients();
    const meter = new ApiServerMeter(server);
    const socketPath = workPath("ipam.sock");
    const helper = new Helper("ipam/allocator-server.ts");
    const kubeconfig = await agentKubeconfig(server, nodeName);
    const input: AllocatorInput = { kubeconfig, socketPath, nodeName, pool };
    await helper.ask("open", input);
    return {
        id: "antrea",
        title: "antrea-cni with the agent's allocation",
        program: shimPath,
        environment: { ANTREA_CNI_SOCKET: socketPath },
        config: { cniVersion: "1.1.0", name: "antrea", type: "antrea" },
        capacity: capacityOf24,
        netnsOf: (place) => `/run/netns/none-${place}`,
        taken: async () => (await allocationsOfPods(api)).length,
        stored: async (adds) => {
            const before = await meter.read();
            const count = await adds();
            return spent(before, await meter.read()).etcdBytes / count;
        },
        [Symbol.asyncDispose]: () => helper[Symbol.asyncDispose](),
    };
}
