import { readFileSync, writeFileSync } from "node:fs";
import { badArgument } from "../errors.ts";
import { fileError, inNetns } from "./namespace.ts";

/**
 * Sets a sysctl of the network namespace at `netnsPath`, or of this process if undefined. `key` is its path below
 * /proc/sys and begins with "net/": "net/ipv6/conf/eth0/disable_ipv6". Throws `NetlinkError` `ENOENT` if the kernel has
 * no such sysctl, `EINVAL` for a value that it rejects, another errno such as `EROFS`, `BAD_ARGUMENT` for another key,
 * and as `inNetns`.
 */
export function setSysctl(netnsPath: string | undefined, key: string, value: string): void {
    withSysctl(netnsPath, key, `set sysctl ${key} to ${value}`, (file) => writeFileSync(file, value));
}

/** The value of a sysctl, without the newline at its end. Arguments and errors are those of `setSysctl`. */
export function getSysctl(netnsPath: string | undefined, key: string): string {
    return withSysctl(netnsPath, key, `read sysctl ${key}`, (file) => readFileSync(file, "utf8").trimEnd());
}

// /proc/sys/net shows the namespace of the thread that opens the file.
function withSysctl<T>(netnsPath: string | undefined, key: string, what: string, use: (file: string) => T): T {
    if (!/^net(?:\/[^/\0]+)+$/.test(key) || key.split("/").some((part) => part === "." || part === "..")) {
        throw badArgument("key of a sysctl", key, 'a path below /proc/sys that begins with "net/" expected');
    }
    const guarded = (): T => {
        try {
            return use(`/proc/sys/${key}`);
        } catch (cause) {
            throw fileError(netnsPath === undefined ? what : `${what} in ${netnsPath}`, cause);
        }
    };
    return netnsPath === undefined ? guarded() : inNetns(netnsPath, guarded);
}
