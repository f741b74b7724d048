import {
    CniCallError,
    CniResultError,
    convertResult,
    encodeResult,
    parseNetworkConfig,
    parseResult,
    peekCniVersion,
    supportedVersions,
    toErrorObject,
    toCniError,
    type CniResult,
} from "@antrea/cni";
import { fileText, json } from "../fixture.ts";
import { isTypedRefusal, mustEqual, type Target } from "../target.ts";

const result = {
    cniVersion: "1.1.0",
    interfaces: [
        { name: "veth1", mac: "0a:00:00:00:00:01" },
        { name: "eth0", sandbox: "/run/netns/a", mtu: 1450 },
    ],
    ips: [{ address: "10.0.0.2/24", gateway: "10.0.0.1", interface: 1 }, { address: "fd00::2/64" }],
    routes: [{ dst: "0.0.0.0/0", gw: "10.0.0.1", mtu: 1400, advmss: 1360, priority: 1, table: 1, scope: 0 }],
    dns: { nameservers: ["10.0.0.10"], domain: "d", search: ["a", "b"], options: ["ndots:5"] },
};
const base = { cniVersion: "1.1.0", name: "antrea", type: "antrea" };
const old = {
    cniVersion: "0.2.0",
    ip4: { ip: "10.0.0.2/24", gateway: "10.0.0.1", routes: [{ dst: "0.0.0.0/0" }] },
    ip6: { ip: "fd00::2/64" },
};

/** Network configurations with previous results of all versions, on standard input of the shim and in the agent. */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    seeds: () => [
        fileText("charts/antrea/conf/antrea-cni.conflist"),
        json(base),
        json({
            ...base,
            mtu: 1400,
            ipam: { type: "host-local", ranges: [] },
            dns: result.dns,
            runtimeConfig: { portMappings: [] },
        }),
        json({ ...base, prevResult: result }),
        json({ ...base, cniVersion: "0.2.0", prevResult: old }),
        json({
            ...base,
            cniVersion: "0.3.1",
            prevResult: {
                ...result,
                cniVersion: "0.3.1",
                ips: [{ version: "4", address: "10.0.0.2/24", interface: 1 }],
            },
        }),
        json({ ...base, cniVersion: "0.4.0", prevResult: { cniVersion: "0.4.0" } }),
        json({ ...base, "cni.dev/valid-attachments": [{ containerID: "a1", ifname: "eth0" }] }),
        json({ ...base, "cni.dev/attachments": [] }),
    ],
    run: (input) => {
        const version = peekCniVersion(input);
        parseNetworkConfigSafely(input);
        try {
            const config = parseNetworkConfig(input);
            if (config.prevResult !== undefined) again(config.prevResult);
        } catch (error) {
            // The error object that reports the rejection.
            json(toErrorObject(toCniError(error), version ?? "1.1.0"));
            throw error;
        }
    },
    isRefusal: (error) => error instanceof CniCallError && isTypedRefusal(error),
};

function parseNetworkConfigSafely(input: Uint8Array): void {
    try {
        parseNetworkConfig(input, { badPrevResult: "drop" });
    } catch (error) {
        if (!(error instanceof CniCallError)) throw error;
    }
}

/** A result that was read can be converted to every version, and is the same when read again. */
function again(read: CniResult): void {
    for (const version of supportedVersions) {
        let text: Uint8Array;
        try {
            convertResult(read, version);
            text = encodeResult(read, version);
        } catch (error) {
            // Not every result can be represented in the oldest version.
            if (error instanceof CniResultError) continue;
            throw error;
        }
        const value = JSON.parse(new TextDecoder().decode(text)) as unknown;
        const back = parseResult(value, { path: "result", defaultVersion: version });
        if (version === "1.1.0") mustEqual("a result written and read again", back, read);
    }
}
