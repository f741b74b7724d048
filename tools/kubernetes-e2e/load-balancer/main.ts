// A load balancer for the tests on a local cluster: gives Services of type LoadBalancer without a class an address at the
// high end of the Docker network, and leads this machine's packets to it by Nodes whose health check returns 200. Prints
// "serving" when it does; SIGTERM ends it and removes all that it made.
//   main.ts NETWORK      NETWORK: IPv4 prefix of the Docker network; the cluster is that of KUBECONFIG
import { sleep } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { parsePrefix } from "@antrea/ip";
import { createKubeClients, Informer, nodes, services, WorkQueue, type Node, type Service } from "@antrea/kube";
import { createLogger } from "@antrea/runtime";
import { LoadBalancer } from "./balancer.ts";
import { healthyOf } from "./health.ts";
import { Routes } from "./routes.ts";
import { poolOf } from "./rules.ts";

const everyMs = 1_000;

const logger = createLogger({ module: "load-balancer" });
const ending = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => ending.abort());

async function main(network: string, { signal }: AbortController): Promise<void> {
    using clients = createKubeClients({
        kubeconfig: process.env.KUBECONFIG ?? "",
        userAgent: "kubernetes-e2e-load-balancer/0.1.0",
    });
    const pool = poolOf(parsePrefix(network));
    const components = { api: clients.api, logger };
    await using known = new Informer<Service>(components, { resource: services });
    await using machines = new Informer<Node>(components, { resource: nodes });
    known.start(signal);
    machines.start(signal);
    await Promise.all([known.synced(signal), machines.synced(signal)]);
    // each is undone whatever becomes of the others: the cluster may be gone already
    await using made = new AsyncDisposableStack();
    const routes = new Routes(pool);
    made.defer(() => routes.close());
    const balancer = new LoadBalancer({ ...components, services: known, nodes: machines, routes, healthyOf }, pool);
    made.defer(() => balancer.close());
    const queue = made.use(
        new WorkQueue(components, { name: "services", maxBackoffMs: 5_000 }, (key) => balancer.reconcile(key)),
    );
    await routes.open();
    using _ = known.onChange((_type, key) => queue.add(key));
    queue.start(signal);
    logger.info("serving");
    while (!signal.aborted) {
        await balancer.round();
        await sleep(everyMs, signal);
    }
}

try {
    await main(process.argv[2] ?? "", ending);
} catch (error) {
    if (!isAborted(error)) {
        logger.error("failed", { error });
        process.exitCode = 1;
    }
}
