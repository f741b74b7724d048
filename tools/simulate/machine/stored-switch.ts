import { type Platform } from "@antrea/agent/platform/platform";

type SwitchBridge = ReturnType<Platform["switchBridges"]["of"]>;

/** A port of a Pod, as the agent writes it. */
export type AccessPort = Parameters<SwitchBridge["ensurePorts"]>[0][number];

/** A bridge that switches by itself, in ovsdb-server. */
export interface StoredSwitch {
    nics: readonly string[];
    /** Ports of Pods, by name. */
    readonly ports: Map<string, AccessPort & { readonly ofPort: number }>;
}
