import { type ApiClient } from "@antrea/kube";

/** Clients with one method replaced, by a function that may call the client's own. */
export function replacing<Method extends "create" | "delete" | "find" | "list" | "watch">(
    method: Method,
    make: (api: ApiClient) => (...args: Parameters<ApiClient[Method]>) => unknown,
): (api: ApiClient) => ApiClient {
    return (api) =>
        new Proxy(api, {
            get: (target, property) => {
                if (property === method) return make(target);
                const value: unknown = Reflect.get(target, property, target);
                return typeof value === "function" ? value.bind(target) : value;
            },
        });
}
