import { getSysctl, setSysctl, setTxChecksumOffload } from "@antrea/netlink";
import { runNft, type RunNft } from "../nftables.ts";
import { runProgram, type RunProgram } from "../program.ts";

/** Settings of the Node's own network namespace; `path` is below /proc/sys. All throw NetlinkError. */
export interface KernelSettings {
    get(path: string): string;
    set(path: string, value: string): void;
    /** Whether the kernel leaves checksums to whoever gets the frames of an interface. */
    setTxChecksumOffload(ifName: string, isOn: boolean): void;
}

/** How the agent works on its Node, beside netlink and OVS: by programs of its image and settings of the kernel. */
export interface Host {
    readonly nft: RunNft;
    readonly run: RunProgram;
    readonly settings: KernelSettings;
}

/** Those of the network namespace that the agent runs in. */
export const kernelSettings: KernelSettings = {
    get: (path) => getSysctl(undefined, path),
    set: (path, value) => setSysctl(undefined, path, value),
    setTxChecksumOffload: (ifName, isOn) => setTxChecksumOffload(ifName, isOn),
};

/** The Node that the agent runs on. */
export const nodeHost: Host = { nft: runNft, run: runProgram, settings: kernelSettings };
