import { describe, expect, it } from "@jest/globals";
import { CniCallError, parseCniArgs, parseNetworkConfig } from "@antrea/cni";
import { formatIp } from "@antrea/ip";
import { parseIpamSection, wantedAddresses } from "../src/index.ts";

/** The addresses of a call as texts, "address/length>gateway", with their source in front. */
function wanted(document: object, args = ""): string[] {
    const config = parseNetworkConfig(JSON.stringify({ cniVersion: "1.0.0", name: "n", type: "macvlan", ...document }));
    const section = parseIpamSection(config.ipam?.raw ?? {});
    const { addresses, source } = wantedAddresses(section, { args: parseCniArgs(args), config });
    return [
        source,
        ...addresses.map(({ ip, prefixLength, gateway }) => {
            const length = prefixLength === undefined ? "" : `/${prefixLength}`;
            return `${formatIp(ip)}${length}${gateway === undefined ? "" : `>${formatIp(gateway)}`}`;
        }),
    ];
}

const listed = { ipam: { type: "antrea", addresses: [{ address: "10.0.0.5/24", gateway: "10.0.0.1" }] } };
const byArgs = { ...listed, args: { cni: { ips: ["10.0.1.5/24", "2001:db8::5/64"] } } };
const byRuntime = { ...byArgs, runtimeConfig: { ips: ["10.0.2.5"] } };

describe("wantedAddresses", () => {
    it.each<[string, object, string, string[]]>([
        ["the section's", listed, "", ["ipam.addresses", "10.0.0.5/24>10.0.0.1"]],
        ["none", { ipam: { type: "antrea", ippools: ["a"] } }, "", ["ipam.addresses"]],
        [
            "those of CNI_ARGS behind the section's",
            listed,
            "IP=10.0.3.5/24, 2001:db8::6/64",
            ["CNI_ARGS", "10.0.0.5/24>10.0.0.1", "10.0.3.5/24", "2001:db8::6/64"],
        ],
        [
            "the gateway of CNI_ARGS for each subnet with it",
            listed,
            "IP=10.0.3.5/24,10.0.3.6/16,10.0.4.5/24;GATEWAY=10.0.3.1",
            ["CNI_ARGS", "10.0.0.5/24>10.0.0.1", "10.0.3.5/24>10.0.3.1", "10.0.3.6/16>10.0.3.1", "10.0.4.5/24"],
        ],
        [
            "the last gateway that fits",
            listed,
            "IP=10.0.3.5/24;GATEWAY=10.0.3.1,10.0.3.2",
            ["CNI_ARGS", "10.0.0.5/24>10.0.0.1", "10.0.3.5/24>10.0.3.2"],
        ],
        [
            "args.cni.ips instead of all these",
            byArgs,
            "IP=10.0.3.5/24",
            ["args.cni.ips", "10.0.1.5/24", "2001:db8::5/64"],
        ],
        ["runtimeConfig.ips instead of all these", byRuntime, "IP=10.0.3.5/24", ["runtimeConfig.ips", "10.0.2.5"]],
        [
            "empty lists count as none",
            { ...listed, args: { cni: { ips: [] } }, runtimeConfig: { ips: null } },
            "",
            ["ipam.addresses", "10.0.0.5/24>10.0.0.1"],
        ],
    ])("takes %s", (_, document, args, expected) => {
        expect(wanted(document, args)).toEqual(expected);
    });

    it("keeps apart what the section lists from what CNI_ARGS adds", () => {
        const config = parseNetworkConfig(
            JSON.stringify({ cniVersion: "1.0.0", name: "n", type: "macvlan", ...listed }),
        );
        const section = parseIpamSection(listed.ipam);
        const args = parseCniArgs("IP=10.0.3.5/24");
        const { addresses, source } = wantedAddresses(section, { args, config });
        expect(addresses.map((address) => address.source ?? source)).toEqual(["ipam.addresses", "CNI_ARGS"]);
    });

    it.each<[string, object, string, RegExp]>([
        ["an address", listed, "IP=x", /^INVALID_ENVIRONMENT_VARIABLES CNI_ARGS\.IP: "x" is refused/],
        [
            "a gateway",
            listed,
            "IP=10.0.3.5/24;GATEWAY=x",
            /^INVALID_ENVIRONMENT_VARIABLES CNI_ARGS\.GATEWAY: "x" is refused/,
        ],
        [
            "args.cni.ips",
            { args: { cni: { ips: "10.0.0.1" } } },
            "",
            /^INVALID_NETWORK_CONFIG args\.cni\.ips: "10\.0\.0\.1" must be a list/,
        ],
        ["args", { args: 7 }, "", /^INVALID_NETWORK_CONFIG args\.cni\.ips: 7 must be/],
        [
            "runtimeConfig.ips",
            { runtimeConfig: { ips: [5] } },
            "",
            /^INVALID_NETWORK_CONFIG runtimeConfig\.ips: \[5\] must be a list/,
        ],
    ])("refuses %s that is none", (_, document, args, message) => {
        const refusal = (): string => {
            try {
                return wanted(document, args).join(" ");
            } catch (error) {
                if (error instanceof CniCallError) return `${error.code} ${error.message}`;
                throw error;
            }
        };
        expect(refusal()).toMatch(message);
    });
});
