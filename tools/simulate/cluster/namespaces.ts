import { type KubeObject } from "@antrea/kube";
import { type ApiServer, kindOf } from "../api/server.ts";
import { type Change } from "../api/store.ts";
import { type Random } from "../time/random.ts";
import { type VirtualTime } from "../time/virtual-time.ts";

const namespaceKind = kindOf("v1", "namespaces");
/** What is deleted in a terminating Namespace, in this order. */
const contents = [
    { kind: kindOf("v1", "pods"), path: "/api/v1" },
    { kind: kindOf("apps/v1", "statefulsets"), path: "/apis/apps/v1" },
    { kind: kindOf("apps/v1", "deployments"), path: "/apis/apps/v1" },
    { kind: kindOf("k8s.cni.cncf.io/v1", "network-attachment-definitions"), path: "/apis/k8s.cni.cncf.io/v1" },
] as const;
const user = { name: "system:serviceaccount:kube-system:namespace-controller" };

/** The Namespace controller: empties terminating Namespaces and finalizes them when nothing is left. */
export class NamespaceEnds {
    readonly #components: { readonly server: ApiServer; readonly time: VirtualTime; readonly random: Random };
    readonly #pending = new Set<string>();

    constructor(components: { readonly server: ApiServer; readonly time: VirtualTime; readonly random: Random }) {
        this.#components = components;
    }

    changed({ kind, key, after }: Change): void {
        if (kind === namespaceKind && after?.object.metadata?.deletionTimestamp !== undefined) this.#soon(key);
    }

    #soon(name: string): void {
        const { time, random } = this.#components;
        if (this.#pending.has(name)) return;
        this.#pending.add(name);
        time.after(random.latency(20, 4_000), () => {
            this.#pending.delete(name);
            void this.#end(name);
        });
    }

    async #end(name: string): Promise<void> {
        const { server } = this.#components;
        const namespace = server.store.get(namespaceKind, name)?.object;
        if (namespace?.metadata?.deletionTimestamp === undefined) return;
        let isEmpty = true;
        for (const { kind, path } of contents) {
            for (const { object } of [...server.store.all(kind)]) {
                if (object.metadata?.namespace !== name) continue;
                isEmpty = false;
                await this.#delete(object, `${path}/namespaces/${name}/${kind.resource.plural}`);
            }
        }
        if (!isEmpty) return this.#soon(name);
        const body = JSON.stringify({ ...namespace, spec: { finalizers: [] } });
        await server.handle({ method: "PUT", path: `/api/v1/namespaces/${name}/finalize`, body }, user);
        this.#soon(name);
    }

    async #delete({ metadata }: KubeObject, path: string): Promise<void> {
        if (metadata?.deletionTimestamp !== undefined) return;
        const body = JSON.stringify({ propagationPolicy: "Background" });
        await this.#components.server.handle({ method: "DELETE", path: `${path}/${metadata?.name}`, body }, user);
    }
}
