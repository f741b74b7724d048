import { closeSync, constants, openSync, writeSync } from "node:fs";
import { stat, statfs } from "node:fs/promises";
import { isPromise } from "node:util/types";
import { isSystemError } from "@antrea/errors";
import { isNetlinkError, NetlinkError, type NetlinkErrorCode } from "../errors.ts";
import { refused } from "./errno.ts";
import { libc, type Libc } from "./libc.ts";

const CLONE_NEWNET = 0x4000_0000;
const NSFS_MAGIC = 0x6e73_6673;

// Of the thread, not of the process: /proc/self is the main thread's.
const OWN_NETNS = "/proc/thread-self/ns/net";

/** What `inNetns` needs of the machine. */
export interface NamespaceComponents {
    readonly libc: Pick<Libc, "setns" | "errno">;
    /** Ends the process with a last word. Never returns. */
    readonly abort: (message: string) => never;
}

/**
 * Runs `fn` with the calling thread in the network namespace at `path` and switches back before anything else runs on
 * this thread. `fn` must be synchronous and must start nothing that outlives it (a promise returned is refused).
 * Throws what `fn` throws, `ENOENT` if the path is gone, `NOT_A_NETNS` if it is something else. If the thread cannot
 * be brought back the process ends at once: every later call would act in the wrong namespace.
 */
export function inNetns<T>(path: string, fn: () => T): T {
    return inNetnsWith({ libc: libc(), abort }, path, fn);
}

/** `inNetns` with its means given. */
export function inNetnsWith<T>(components: NamespaceComponents, path: string, fn: () => T): T {
    const target = openNetns(path);
    try {
        return inNetnsFd(components, target, path, fn);
    } finally {
        closeSync(target);
    }
}

/** `inNetns` for a namespace that is open already; `name` is for errors. The descriptor stays open. */
export function inNetnsFd<T>(components: NamespaceComponents, fd: number, name: string, fn: () => T): T {
    const own = openSync(OWN_NETNS, constants.O_RDONLY);
    try {
        enter(components, fd, name);
        try {
            return refusePromise(fn(), name);
        } finally {
            if (components.libc.setns(own, CLONE_NEWNET) !== 0) {
                components.abort(
                    `netlink: cannot return from network namespace ${name}: errno ${components.libc.errno()}; aborting`,
                );
            }
        }
    } finally {
        closeSync(own);
    }
}

/** The means of the real machine. */
export function namespaceComponents(): NamespaceComponents {
    return { libc: libc(), abort };
}

/** Opens a namespace by its path. The caller closes it. */
export function openNetns(path: string): number {
    try {
        return openSync(path, constants.O_RDONLY);
    } catch (cause) {
        throw fileError(`open network namespace ${path}`, cause);
    }
}

/**
 * Which namespace a path stands for: two paths with the same identity are the same namespace. Rejects with `ENOENT`
 * if there is nothing, `NOT_A_NETNS` if the file is no namespace (the empty file that is left after an unmount).
 */
export async function netnsIdentity(path: string): Promise<{ readonly dev: bigint; readonly inode: bigint }> {
    try {
        const [file, system] = await Promise.all([stat(path, { bigint: true }), statfs(path)]);
        if (system.type !== NSFS_MAGIC) throw notANetns(path);
        return { dev: file.dev, inode: file.ino };
    } catch (cause) {
        throw cause instanceof NetlinkError ? cause : fileError(`look at network namespace ${path}`, cause);
    }
}

function enter({ libc: calls }: NamespaceComponents, fd: number, name: string): void {
    if (calls.setns(fd, CLONE_NEWNET) === 0) return;
    const error = refused(`enter network namespace ${name}`, calls.errno());
    throw isNetlinkError(error, "EINVAL") ? notANetns(name) : error;
}

function refusePromise<T>(result: T, name: string): T {
    if (isPromise(result)) {
        result.catch(() => undefined);
        throw new NetlinkError(
            "BAD_ARGUMENT",
            "caller",
            `work in network namespace ${name} returned a promise: it would go on outside of it; only synchronous work allowed`,
        );
    }
    return result;
}

/** The error of a path at which something else is. */
export function notANetns(path: string): NetlinkError {
    return new NetlinkError("NOT_A_NETNS", "environment", `${path} is no network namespace: its mount may be gone`);
}

/** An error of node:fs as one of ours. */
export function fileError(what: string, cause: unknown): NetlinkError {
    const code = isSystemError(cause) ? (cause.code as NetlinkErrorCode) : "EIO";
    return new NetlinkError(code, "environment", `${what}: ${code}`, { cause });
}

function abort(message: string): never {
    writeSync(2, `${message}\n`);
    process.abort();
}
