import { invalidVariable } from "./names.ts";

/**
 * CNI_ARGS with the keys that Kubernetes runtimes set, each undefined if it is absent or empty; `all` has also these.
 */
export interface CniArgs {
    /** All pairs; of a repeated key the last one. */
    readonly all: ReadonlyMap<string, string>;
    /** K8S_POD_NAME. */
    readonly podName?: string;
    /** K8S_POD_NAMESPACE. */
    readonly podNamespace?: string;
    /** K8S_POD_UID. */
    readonly podUid?: string;
    /** K8S_POD_INFRA_CONTAINER_ID. */
    readonly infraContainerId?: string;
}

interface KnownKey {
    readonly name: Exclude<keyof CniArgs, "all">;
    readonly pattern: RegExp;
    readonly rule: string;
}

// These become parts of object names, paths of the API server and values in OVSDB, so other characters are rejected.
const known: ReadonlyMap<string, KnownKey> = new Map([
    [
        "K8S_POD_NAME",
        {
            name: "podName",
            pattern: /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/,
            rule: "must be a DNS subdomain (RFC 1123) of at most 253 characters",
        },
    ],
    [
        "K8S_POD_NAMESPACE",
        {
            name: "podNamespace",
            pattern: /^(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
            rule: "must be a DNS label (RFC 1123) of at most 63 characters",
        },
    ],
    [
        "K8S_POD_UID",
        {
            name: "podUid",
            pattern: /^[a-zA-Z0-9][a-zA-Z0-9-]{0,127}$/,
            rule: "must be letters, digits and '-', at most 128",
        },
    ],
    [
        "K8S_POD_INFRA_CONTAINER_ID",
        {
            name: "infraContainerId",
            pattern: /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/,
            rule: "must be a container id",
        },
    ],
]);

/**
 * Parses CNI_ARGS, "KEY=VALUE;KEY=VALUE". Unknown keys are kept, since runtimes add their own. Throws `CniCallError`
 * INVALID_ENVIRONMENT_VARIABLES for a part that is no pair or a Kubernetes key whose value breaks its rule. Empty text
 * and empty parts are allowed.
 */
export function parseCniArgs(text: string): CniArgs {
    const all = new Map<string, string>();
    for (const pair of text.split(";")) {
        if (pair === "") continue;
        const equals = pair.indexOf("=");
        if (equals < 1) throw invalidVariable("CNI_ARGS", pair, "must be a pair KEY=VALUE");
        all.set(pair.slice(0, equals), pair.slice(equals + 1));
    }
    const args: { -readonly [Field in KnownKey["name"]]?: string } = {};
    for (const [key, { name, pattern, rule }] of known) {
        const value = all.get(key) ?? "";
        if (value === "") continue;
        if (!pattern.test(value)) throw invalidVariable(`CNI_ARGS.${key}`, value, rule);
        args[name] = value;
    }
    return { all, ...args };
}
