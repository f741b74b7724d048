import { CniCallError, isJsonObject, type CniArgs, type NetworkConfig } from "@antrea/cni";
import { fault } from "./error.ts";
import { interfaceMac } from "./mac.ts";

/**
 * The MAC address that a CNI call requests: of `runtimeConfig.mac` (the capability `mac`), `args.cni.mac` and `MAC` of
 * CNI_ARGS the first that is set, as "aa:bb:cc:dd:ee:ff"; undefined if none is. Throws `CniCallError`
 * INVALID_NETWORK_CONFIG or, for CNI_ARGS, INVALID_ENVIRONMENT_VARIABLES with field, value and rule.
 */
export function requestedMac({
    args,
    config,
}: {
    readonly args: CniArgs;
    readonly config: NetworkConfig;
}): string | undefined {
    const cniArgs = isJsonObject(config.raw["args"]) ? config.raw["args"]["cni"] : undefined;
    const sources: readonly (readonly [string, unknown])[] = [
        ["runtimeConfig.mac", config.runtimeConfig?.["mac"]],
        ["args.cni.mac", isJsonObject(cniArgs) ? cniArgs["mac"] : undefined],
        ["CNI_ARGS.MAC", args.all.get("MAC")],
    ];
    const [field, value] = sources.find(([, one]) => one !== undefined && one !== null && one !== "") ?? [];
    if (field === undefined) return undefined;
    const read =
        typeof value === "string"
            ? interfaceMac(value)
            : { rule: "must be a string", next: "write a MAC address, as 02:00:00:00:00:01" };
    if ("mac" in read) return read.mac;
    const code = field.startsWith("CNI_ARGS") ? "INVALID_ENVIRONMENT_VARIABLES" : "INVALID_NETWORK_CONFIG";
    throw new CniCallError(code, "caller", fault(field, value, read.rule, read.next));
}
