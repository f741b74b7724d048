import { Mutex } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import { type Prefix } from "@antrea/ip";
import { isKubeError, services, type ApiClient, type Informer, type Node, type Service } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { type Routes } from "./routes.ts";
import * as rules from "./rules.ts";

/** Dependencies of LoadBalancer: the API server, what is known of its objects, and the routes of this machine. */
export interface LoadBalancerComponents {
    readonly api: Pick<ApiClient, "patch">;
    readonly services: Pick<Informer<Service>, "get" | "list">;
    readonly nodes: Pick<Informer<Node>, "list">;
    readonly routes: Pick<Routes, "set">;
    /** Those of the addresses of Nodes that are healthy at this port. */
    readonly healthyOf: (addresses: readonly string[], port: number) => Promise<readonly string[]>;
    readonly logger: Pick<Logger, "info">;
}

class LoadBalancerError extends AntreaError<"POOL_USED_UP"> {}

/**
 * Gives Services of type LoadBalancer an address of the pool, and leads this machine's packets to it to Nodes whose
 * health check returns 200.
 */
export class LoadBalancer {
    readonly #components: LoadBalancerComponents;
    readonly #pool: Prefix;
    /** By key of the Service: its address, and the Nodes to which the route leads. */
    readonly #balanced = new Map<string, { readonly address: string; readonly hops: readonly string[] }>();
    readonly #lock = new Mutex();
    #last: string | undefined;

    constructor(components: LoadBalancerComponents, pool: Prefix) {
        this.#components = components;
        this.#pool = pool;
    }

    /** Brings the load balancer of one Service to what its type asks for. Rejects with the error of the API server. */
    async reconcile(key: string): Promise<void> {
        const service = this.#components.services.get(key);
        if (service !== undefined && rules.isBalanced(service)) return this.#give(key, service);
        await this.#lock.run(() => this.#takeBack(key));
        if (service !== undefined && rules.hasFinalizer(service)) await this.#release(service);
    }

    /** Asks the Nodes for their health, and makes the routes follow it. */
    async round(): Promise<void> {
        const nodes = rules.nodeAddresses(this.#components.nodes.list());
        const known = [...this.#balanced.keys()].flatMap((key) => this.#components.services.get(key) ?? []);
        const healthy = new Map<number, readonly string[]>();
        const probe = async (port: number): Promise<void> =>
            void healthy.set(port, await this.#components.healthyOf(nodes, port));
        await Promise.all([...new Set(known.map(rules.healthPort))].map(probe));
        await this.#lock.run(async () => {
            for (const key of this.#balanced.keys()) await this.#lead(key, healthy);
        });
    }

    /** Releases the Services that would wait for this program before they go. Rejects, when all were tried, with the first error. */
    async close(): Promise<void> {
        const waiting = this.#components.services.list().filter(rules.hasFinalizer);
        const results = await Promise.allSettled(waiting.map((service) => this.#release(service)));
        for (const result of results) if (result.status === "rejected") throw result.reason;
    }

    async #give(key: string, service: Service): Promise<void> {
        const address = this.#balanced.get(key)?.address ?? this.#claim(key);
        if (!rules.hasFinalizer(service)) {
            await this.#patch(service, { metadata: { finalizers: [rules.finalizer] } });
        }
        if (rules.ingressOf(service).join() === address) return;
        const ingress = [{ ip: address, ipMode: "VIP" }];
        await this.#patch(service, { status: { loadBalancer: { ingress } } }, "status");
        this.#components.logger.info("address given", { service: key, address });
    }

    #claim(key: string): string {
        const given = [...this.#balanced.values()].map(({ address }) => address);
        const used = new Set([...given, ...this.#components.services.list().flatMap(rules.ingressOf)]);
        const address = rules.nextAddress(this.#pool, used, this.#last);
        if (address === undefined) {
            throw new LoadBalancerError(
                "POOL_USED_UP",
                "environment",
                `${key}: all addresses are in use: delete Services`,
            );
        }
        this.#last = address;
        this.#balanced.set(key, { address, hops: [] });
        return address;
    }

    async #takeBack(key: string): Promise<void> {
        const address = this.#balanced.get(key)?.address;
        if (address === undefined) return;
        await this.#components.routes.set(address, []);
        this.#balanced.delete(key);
        this.#components.logger.info("address taken back", { service: key, address });
    }

    async #lead(key: string, healthy: ReadonlyMap<number, readonly string[]>): Promise<void> {
        const service = this.#components.services.get(key);
        const balanced = this.#balanced.get(key);
        const answering = service && healthy.get(rules.healthPort(service));
        // of one that came or changed meanwhile the next round knows
        if (service === undefined || balanced === undefined || answering === undefined) return;
        const { address, hops } = balanced;
        const wanted = rules.nextHops(service, answering, hops, Number(address.split(".").at(-1)));
        if (wanted.join() === hops.join()) return;
        await this.#components.routes.set(address, wanted);
        this.#balanced.set(key, { address, hops: wanted });
        this.#components.logger.info("route set", { service: key, address, nodes: wanted });
    }

    async #release(service: Service): Promise<void> {
        const { deletionTimestamp } = service.metadata ?? {};
        if (deletionTimestamp === undefined && rules.ingressOf(service).length > 0) {
            await this.#patch(service, { status: { loadBalancer: { ingress: [] } } }, "status");
        }
        await this.#patch(service, { metadata: { "$deleteFromPrimitiveList/finalizers": [rules.finalizer] } });
    }

    /** A strategic patch adds to the finalizers of others and conflicts with nobody. */
    async #patch(
        { metadata: { name = "", namespace = "" } = {} }: Service,
        body: Readonly<Record<string, unknown>>,
        subresource?: "status",
    ): Promise<void> {
        try {
            await this.#components.api.patch(
                services,
                { name, namespace },
                { type: "strategic", body },
                { subresource },
            );
        } catch (error) {
            // gone meanwhile, with nothing to release
            if (!isKubeError(error, "NOT_FOUND")) throw error;
        }
    }
}
