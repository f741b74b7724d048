import { getSysctl, setSysctl, setTxChecksumOffload } from "@antrea/netlink";
import { runNft, type RunNft } from "../nftables.ts";
import { runProgram, type RunProgram } from "../program.ts";

/**
 * Settings of the Node's own network namespace; `path` is below /proc/sys and begins with `net/`. All throw
 * NetlinkError: `ENOENT` for an unknown sysctl, `ENODEV` for an unknown interface.
 */
export interface KernelSettings {
    get(path: string): string;
    set(path: string, value: string): void;
    /** Whether the kernel leaves checksums to the receiver of the frames of an interface. */
    setTxChecksumOffload(ifName: string, isOn: boolean): void;
}

/** Access of the agent to its Node besides netlink and OVS: programs of its image and kernel settings. */
export interface Host {
    readonly nft: RunNft;
    readonly run: RunProgram;
    readonly settings: KernelSettings;
}

/** The settings of the network namespace in which the agent runs. */
export const kernelSettings: KernelSettings = {
    get: (path) => getSysctl(undefined, path),
    set: (path, value) => setSysctl(undefined, path, value),
    setTxChecksumOffload: (ifName, isOn) => setTxChecksumOffload(ifName, isOn),
};

/** The programs and kernel settings of the Node on which the agent runs. */
export const nodeHost: Host = { nft: runNft, run: runProgram, settings: kernelSettings };
