import { isDeepStrictEqual } from "node:util";
import { type z } from "zod";
import { knownKeys } from "./known-keys.ts";
import { type Notice } from "./load.ts";
import { valueAt } from "./path.ts";

/** Keys of a settings file that nothing reads, each with the reason; a key stands for all below it. */
export type UnservedKeys = ReadonlyMap<string, string>;

const feature = "the feature is not available in this version";
const connection = "the client of the API server has limits of its own";

function keysOf(names: string, why: string): (readonly [string, string])[] {
    return names.split(" ").map((name) => [name, why] as const);
}

const requests = keysOf(
    "clientConnection.acceptContentTypes clientConnection.contentType clientConnection.qps clientConnection.burst",
    connection,
);

/** Keys of antrea-agent.conf that nothing reads, each with the reason, for warnings and documentation. */
export const agentUnserved: UnservedKeys = new Map([
    ...requests,
    ...keysOf("antreaClientConnection", "antrea-agent asks nothing of antrea-controller in this version"),
    ...keysOf("podCIDRs", "it is for trafficEncapMode networkPolicyOnly, which is not available in this version"),
    ...keysOf(
        "wireGuard clusterPort memberlist flowCollectorAddr flowPollInterval activeFlowExportTimeout " +
            "idleFlowExportTimeout flowExporter nodePortLocal dnsServerOverride fqdnCacheMinTTL multicast egress ipsec " +
            "multicluster externalNode auditLogging packetInRate hostNetworkAcceleration",
        feature,
    ),
    ...keysOf("hostNetworkMode", "this version always uses nftables for the rules of the Node"),
]);

/** Keys of antrea-controller.conf that nothing reads, each with the reason, for warnings and documentation. */
export const controllerUnserved: UnservedKeys = new Map([
    ...requests,
    ...keysOf("clientCAFile", "antrea-controller serves no clients with certificates in this version"),
    ...keysOf("ipsecCSRSigner multicluster", feature),
]);

/** Returns the dotted keys of a schema that are not groups; a list counts as one key. */
export function leafKeys(schema: z.ZodType): readonly string[] {
    const keys = knownKeys(schema).filter((key) => !key.includes("[]"));
    return keys.filter((key) => !keys.some((other) => other.startsWith(`${key}.`)));
}

/**
 * Returns why nothing reads a key (the reason of the key itself or of a group that it is in); undefined if it is in
 * use.
 */
export function whyUnserved(keys: UnservedKeys, key: string): string | undefined {
    return [...keys].find(([name]) => key === name || key.startsWith(`${name}.`))?.[1];
}

/**
 * Returns notices that warn about each key that nothing reads if its value differs from the default: "KEY has no
 * effect: REASON". Throws zod's error if the schema is not valid for an empty file.
 */
export function unservedNotices<Config>(schema: z.ZodType<Config>, keys: UnservedKeys): readonly Notice<Config>[] {
    const defaults = schema.parse({});
    return leafKeys(schema).flatMap((key) => {
        const why = whyUnserved(keys, key);
        const path = key.split(".");
        const check = (config: Config): string | undefined =>
            isDeepStrictEqual(valueAt(config, path), valueAt(defaults, path))
                ? undefined
                : `${key} has no effect: ${why}`;
        return why === undefined ? [] : [{ check }];
    });
}
