import { getSysctl, setSysctl, setTxChecksumOffload } from "@antrea/netlink";
import { rulesGeneration, runNft, type RulesGeneration, type RunNft } from "../nftables.ts";
import { runProgram, type RunProgram } from "../program.ts";

/**
 * Settings of the Node's own network namespace; `path` is below /proc/sys and begins with `net/`. All are synchronous
 * and throw NetlinkError: `ENOENT` for an unknown sysctl, `EINVAL` for a value that the kernel rejects, `ENODEV` for an
 * unknown interface, `EOPNOTSUPP` if it cannot change its offload.
 */
export interface KernelSettings {
    /** The value without the newline at its end. */
    get(path: string): string;
    set(path: string, value: string): void;
    /**
     * Whether the kernel leaves checksums to the receiver of the frames of an interface (`ethtool -K IFNAME tx`).
     * Idempotent.
     */
    setTxChecksumOffload(ifName: string, isOn: boolean): void;
}

/**
 * Access of the agent to its Node besides netlink and OVS: programs of its image and kernel settings; `nodeHost` is the
 * real one.
 */
export interface Host {
    readonly nft: RunNft;
    readonly rulesGeneration: RulesGeneration;
    readonly run: RunProgram;
    readonly settings: KernelSettings;
}

/** `KernelSettings` of the network namespace in which the agent runs, by /proc/sys and ethtool ioctls. */
export const kernelSettings: KernelSettings = {
    get: (path) => getSysctl(undefined, path),
    set: (path, value) => setSysctl(undefined, path, value),
    setTxChecksumOffload: (ifName, isOn) => setTxChecksumOffload(ifName, isOn),
};

/** `Host` of the Node on which the agent runs: `runNft`, `rulesGeneration`, `runProgram` and `kernelSettings`. */
export const nodeHost: Host = { nft: runNft, rulesGeneration, run: runProgram, settings: kernelSettings };
