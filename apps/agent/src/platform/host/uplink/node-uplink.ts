import { socketAddress } from "@antrea/kube";
import { podLinkGroup } from "../../kernel-ids.ts";
import type { Platform } from "../../platform.ts";
import { apiAnswers, isOwnHost, leavesBy } from "./api-reachable.ts";
import type { UplinkOptions, UplinkPorts } from "./types.ts";
import { Uplink } from "./uplink.ts";

/** What an uplink of the Node needs of the platform. */
export type UplinkPlatform = Pick<
    Platform,
    "config" | "database" | "datapath" | "environment" | "kube" | "logger" | "netlink" | "openflow"
>;

/** The one that is built: its ports, journal and port numbers. */
export interface NodeUplinkOptions extends Pick<UplinkOptions, "folder" | "hostOfPort" | "uplinkOfPort" | "isOwn"> {
    readonly ports: UplinkPorts;
    /** Of its messages. */
    readonly module: string;
    /** The NIC, where the Node may reach the API server by another one; default: all of the Node depends on this one. */
    readonly nic?: string;
}

/** Builds an uplink from the agent's configuration and OVS state; moves nothing. */
export function nodeUplink(platform: UplinkPlatform, { ports, module, nic, ...options }: NodeUplinkOptions): Uplink {
    const { config, database, datapath, environment, kube, logger, netlink, openflow } = platform;
    return new Uplink(
        {
            netlink,
            ports,
            logger: logger.child(module),
            apiReachable: (signal) => apiAnswers(kube, signal),
            apiIsLocal: async () => {
                const { host } = socketAddress((await kube.connection()).server);
                return (await isOwnHost(host, netlink)) || (nic !== undefined && !(await leavesBy(host, nic, netlink)));
            },
            ovsProblem: () => {
                if (database.problem !== undefined) return database.problem;
                if (database.lockState !== "locked") return "the lock of this Node's OVS database is not held";
                return openflow.state.kind === "ready" ? undefined : "ovs-vswitchd is not connected";
            },
        },
        {
            ...options,
            usesAllGateways: nic !== undefined,
            bootId: environment.bootId,
            checkTimeoutMs: config.uplink.checkTimeout,
            linkGroup: podLinkGroup,
            copiesFrames: datapath.copiesFrames,
            mustComputeChecksums: datapath.mustComputeChecksums,
        },
    );
}
