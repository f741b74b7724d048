import { type JsonObject } from "@antrea/cni";
import { quote } from "@antrea/ip";

const keysInEffect: ReadonlySet<string> = new Set(["networkType", "vlan", "mtu", "ipam"]);
/** Read or written by the container runtime, libcni or a meta plugin, in the configuration of any plugin. */
const keysOfCni: ReadonlySet<string> = new Set([
    "cniVersion",
    "cniVersions",
    "name",
    "type",
    "plugins",
    "disableCheck",
    "disableGC",
    "loadOnlyInlinedPlugins",
    "capabilities",
    "args",
    "runtimeConfig",
    "prevResult",
    "deviceID",
    "pciBusID",
]);
const prefixOfCni = "cni.dev/";
const plainKey = /^[\w.-]{1,64}( beside plugins)?$/;
const maxNamed = 10;

/** The keys of the configuration of a plugin of type antrea for networks that have no effect. */
export function ignoredKeysOf(plugin: JsonObject): readonly string[] {
    return othersOf(plugin).filter((key) => !keysInEffect.has(key));
}

/**
 * Returns the keys of a list of plugins that have no effect beside its `plugins`, in their order, each as the text
 * `vlan beside plugins`. Those of CNI itself, such as `cniVersion`, are left out, and those whose value is null.
 */
export function ignoredBesidePlugins(list: JsonObject): readonly string[] {
    return othersOf(list).map((key) => `${key} beside plugins`);
}

/** Keys as a list for messages, such as `vlanId, ipam.range`: the first ten, and the number of the others. */
export function keysText(keys: readonly string[]): string {
    const named = keys.slice(0, maxNamed).map((key) => (plainKey.test(key) ? key : quote(key)));
    return named.join(", ") + (keys.length > maxNamed ? ` and ${keys.length - maxNamed} more` : "");
}

/** Null is as absent. */
function othersOf(document: JsonObject): readonly string[] {
    return Object.keys(document).filter(
        (key) => (document[key] ?? undefined) !== undefined && !keysOfCni.has(key) && !key.startsWith(prefixOfCni),
    );
}
