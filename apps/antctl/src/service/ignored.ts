import { refOf } from "@antrea/kube";
import { serviceNameLabel, type IgnoredReason } from "@antrea/services";
import { type AgentConfig, type Loaded } from "@antrea/settings";
import { CliError } from "../errors.ts";

/** The error for the Service `namespace/name` that AntreaProxy ignores, with the cause and where to look instead. */
export function ignored(key: string, reason: IgnoredReason, { config }: Loaded<AgentConfig>): CliError {
    const [why, next] = whyIgnored(key, reason, config.antreaProxy);
    return new CliError("IGNORED", "caller", `AntreaProxy does not serve Service ${key}: ${why}`, next);
}

function whyIgnored(
    key: string,
    reason: IgnoredReason,
    { proxyAll, serviceProxyName: proxyName }: AgentConfig["antreaProxy"],
): readonly [why: string, next: string] {
    const { namespace, name } = refOf(key);
    switch (reason) {
        case "ExternalName":
            return ["it is of type ExternalName, an alias in DNS", "look at the name in its spec.externalName"];
        case "Headless": {
            const next = `kubectl -n ${namespace} get endpointslices -l ${serviceNameLabel}=${name} lists their addresses`;
            return ["it is headless: its clients get the addresses of its endpoints from DNS", next];
        }
        case "OtherProxy": {
            const label = "label service.kubernetes.io/service-proxy-name";
            const why =
                proxyName === ""
                    ? `its ${label} names another program`
                    : `its ${label} is not ${proxyName}, as antreaProxy.serviceProxyName asks`;
            return [why, "look at the program that the label names, or change the label"];
        }
        case "Skipped":
            return [
                "antreaProxy.skipServices names it",
                proxyAll
                    ? "look at kube-proxy, if it runs beside antreaProxy.proxyAll: else nobody serves it until you take it " +
                      "from antreaProxy.skipServices"
                    : "look at kube-proxy, or take it from antreaProxy.skipServices",
            ];
    }
}
