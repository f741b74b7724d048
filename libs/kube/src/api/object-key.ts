import { type KubeObject } from "./types.ts";

/** Returns the key of an object: `namespace/name`, or `name` if it is cluster-scoped; "" without metadata. */
export function keyOf(object: KubeObject): string {
    const { namespace, name = "" } = object.metadata ?? {};
    return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

/** Namespace and name of the object with this key of `keyOf`; "" for what the key does not have. */
export function refOf(key: string): { readonly namespace: string; readonly name: string } {
    const [namespace = "", name] = key.split("/");
    return name === undefined ? { namespace: "", name: namespace } : { namespace, name };
}
