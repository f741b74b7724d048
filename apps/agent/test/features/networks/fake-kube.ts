import {
    keyOf,
    pods,
    refOf,
    type ApiClient,
    type KubeObject,
    type Pod,
    type Resource,
    networkAttachmentDefinitions,
} from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";

/** Objects that can be read one by one, as from an API server. */
export class FakeKube implements Pick<ApiClient, "find"> {
    /** `PLURAL NAMESPACE/NAME` of each request. */
    readonly requests: string[] = [];
    /** The answer to a request waits for it; a rejection is the answer. */
    before: (plural: string, key: string) => Promise<void> = () => Promise.resolve();
    readonly #objects = new Map<string, KubeObject>();

    find: ApiClient["find"] = async (resource, { name, namespace }) => {
        const key = `${namespace}/${name}`;
        this.requests.push(`${resource.plural} ${key}`);
        await this.before(resource.plural, key);
        return this.#objects.get(`${resource.plural} ${key}`) as never;
    };

    put(resource: Resource<KubeObject>, object: KubeObject): void {
        this.#objects.set(`${resource.plural} ${keyOf(object)}`, object);
    }

    /** A NetworkAttachmentDefinition `NAMESPACE/NAME`. */
    addNetwork(key: string, config: unknown, annotations: Readonly<Record<string, string>> = {}): void {
        const spec = { config: typeof config === "string" ? config : JSON.stringify(config) };
        this.put(networkAttachmentDefinitions, { metadata: { ...refOf(key), annotations }, spec } as KubeObject);
    }

    /** The Pod default/web with UID "uid" and this annotation. */
    addPod(annotation: string | undefined, spec: Pod["spec"] | object = {}): void {
        const annotations = annotation === undefined ? {} : { [networksAnnotation]: annotation };
        this.put(pods, {
            metadata: { namespace: "default", name: "web", uid: "uid", annotations },
            spec,
        } as KubeObject);
    }
}

/** The configuration of a VLAN network, with further keys. */
export function vlanConfig(keys: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
    return { cniVersion: "1.0.0", type: "antrea", networkType: "vlan", ...keys };
}
