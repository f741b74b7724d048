import { CniCallError, parseCniArgs, parseEnvironment } from "@antrea/cni";
import { type Target } from "../target.ts";

const names = ["CNI_COMMAND", "CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS", "CNI_PATH"];
const args =
    "IgnoreUnknown=1;K8S_POD_NAMESPACE=ns;K8S_POD_NAME=web-0.a;K8S_POD_UID=6fa1-2;K8S_POD_INFRA_CONTAINER_ID=a1";

/** The environment of the shim, one variable per line, and CNI_ARGS. */
export const target: Target = {
    format: "text",
    seeds: () => [
        ["ADD", "a1b2", "/run/netns/x", "eth0", args, "/opt/cni/bin"].join("\n"),
        ["DEL", "a1b2", "", "eth0", "K8S_POD_NAME=a", ""].join("\n"),
        ...["CHECK", "GC", "STATUS", "VERSION", "NO"].map((command) => [command, "a", "/n", "e", "", ""].join("\n")),
    ],
    tokens: ["ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION", ";", "=", "K8S_POD_NAME=", "K8S_POD_UID="],
    run: (input) => {
        const values = new TextDecoder().decode(input).split("\n");
        parseCniArgs(values[4] ?? "");
        parseEnvironment(Object.fromEntries(names.map((name, at) => [name, values[at]])));
    },
    isRefusal: (error) => error instanceof CniCallError && error.fault === "caller",
};
