import { loadAgentConfig, SettingsError } from "@antrea/settings";
import { fileText } from "../fixture.ts";
import { type Target } from "../target.ts";

/** The agent's settings file. */
export const target: Target = {
    format: "text",
    maxBytes: 3_000,
    // Nodes of the YAML parser are large.
    bytesPerByte: 16_384,
    seeds: () => [
        withoutComments(fileText("charts/antrea/conf/antrea-agent.conf")),
        "trafficEncapMode: noEncap\nfeatureGates: {AntreaIPAM: true}\nnoSNAT: true\n",
        "wireGuard: {port: 51820}\ntunnelType: geneve\ntransportInterfaceCIDRs: [10.0.0.0/8]\n",
        "secondaryNetwork: {ovsBridges: [{bridgeName: b, physicalInterfaces: [eth1]}]}\n",
        "a: &a [1, 2]\nb: *a\n",
        // Near the limit: a file of another program.
        Array.from({ length: 3_000 }, (_, at) => `k${at}: 1\n`).join(""),
    ],
    tokens: [
        "&a ",
        "*a",
        "<<: ",
        "? ",
        "- ",
        "|\n",
        ">-\n",
        "!!",
        "!!binary ",
        "{",
        "[",
        "---\n",
        "...\n",
        "%YAML 1.1\n",
        "\t",
        "~",
        "0x10",
        "1e400",
        ".inf",
        "2001-01-01",
        "__proto__: ",
    ],
    run: (input) => {
        loadAgentConfig(new TextDecoder().decode(input));
    },
    isRefusal: (error) => error instanceof SettingsError && error.fault === "caller",
};

function withoutComments(text: string): string {
    return text
        .split("\n")
        .map((line) => line.replace(/^(\s*)#\s?(?=\w+:)/, "$1"))
        .filter((line) => !/^\s*(#|$|\{\{)/.test(line) && !line.includes("{{"))
        .join("\n")
        .slice(0, 3_000);
}
