import { readFileSync } from "node:fs";
import { type OwnFlags } from "@antrea/runtime";
import { apiServer, loadControllerConfig } from "@antrea/settings";
import { WebhookError } from "./errors.ts";
import { type WebhookOptions } from "./options.ts";

/**
 * The flags of antrea-webhook for `runMain`, with the placeholder of each value in --help: all its settings. Of
 * antrea-controller.conf (--config) it reads the feature gates and clusterCIDRs.
 */
export const flags: OwnFlags = {
    config: "FILE",
    port: "N",
    kubeconfig: "FILE",
    "kube-apiserver": "ADDRESS",
};

const defaultPort = 9443;

/**
 * The webhook's settings in antrea-controller.conf; without the file pools are enabled, networks are not, and there are no
 * cluster CIDRs. The file has all feature gates, also those of the agent: the chart writes one list into both files.
 */
export function settingsOf(
    path: string | undefined,
): Required<Pick<WebhookOptions, "poolsOn" | "networksOn" | "clusterCidrs">> {
    if (path === undefined) return { poolsOn: true, networksOn: false, clusterCidrs: [] };
    let text: string;
    try {
        text = readFileSync(path, "utf8");
    } catch (cause) {
        throw new WebhookError("BAD_FLAG", "environment", `cannot read --config ${path}`, { cause });
    }
    const { config, gates } = loadControllerConfig(text);
    const { enableNodeIPAM, clusterCIDRs } = config.nodeIPAM;
    const isGiving = enableNodeIPAM && gates.enabled("NodeIPAM");
    return {
        poolsOn: gates.enabled("AntreaIPAM"),
        networksOn: gates.enabled("SecondaryNetwork"),
        clusterCidrs: isGiving ? clusterCIDRs : [],
    };
}

/** Reads `--port`, 9443 without it. Throws `WebhookError` `BAD_FLAG`. */
export function portOf(text: string | undefined): number {
    if (text === undefined) return defaultPort;
    if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535) return Number(text);
    throw new WebhookError("BAD_FLAG", "caller", `--port ${JSON.stringify(text)}: must be a number from 1 to 65535`);
}

/** The same texts as kubeAPIServerOverride in antrea-controller.conf. */
export function apiServerOf(text = ""): string | undefined {
    const read = apiServer.safeParse(text);
    if (read.success) return read.data;
    const rule = read.error.issues[0]?.message ?? "";
    throw new WebhookError("BAD_FLAG", "caller", `--kube-apiserver ${JSON.stringify(text)}: ${rule}`);
}
