import { closeSync, constants, openSync, statfsSync, writeSync } from "node:fs";
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

/** What `inNetnsWith` needs of the machine. */
export interface NamespaceComponents {
    readonly libc: Pick<Libc, "setns" | "errno">;
    /** Prints the message and ends the process. */
    readonly abort: (message: string) => never;
}

/**
 * Runs `fn` with the calling thread in the network namespace at `path` (setns(2)) and switches back before other code
 * runs on this thread. `fn` must be synchronous and must not start anything that continues after it (a returned promise
 * is an error). Throws what `fn` throws, or `NetlinkError`: `ENOENT` if the path does not exist, `NOT_A_NETNS` if it is
 * another file, `EPERM` without CAP_SYS_ADMIN, `BAD_ARGUMENT` for a promise. If the thread cannot return to its
 * namespace the process aborts: every later call would act in the wrong namespace.
 */
export function inNetns<T>(path: string, fn: () => T): T {
    return inNetnsWith({ libc: libc(), abort }, path, fn);
}

/** `inNetns` with the system calls and the abort of `components`, so that a failure to return can be tested. */
export function inNetnsWith<T>(components: NamespaceComponents, path: string, fn: () => T): T {
    const target = openNetns(path);
    try {
        return inNetnsFd(components, target, path, fn);
    } finally {
        closeSync(target);
    }
}

/**
 * `inNetns` for the descriptor of a namespace, which stays open; `name` names the namespace in errors. Throws as
 * `inNetns`, except for the path.
 */
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

/**
 * The components of this machine: its system calls, and an abort that writes the message to standard error
 * (process.abort).
 */
export function namespaceComponents(): NamespaceComponents {
    return { libc: libc(), abort };
}

/**
 * Opens the file at the path of a namespace; the caller closes the descriptor. Throws `NetlinkError` with the errno,
 * such as `ENOENT`, or `NOT_A_NETNS` if it is no namespace. That it is one of another kind is not noticed: the call that
 * uses the descriptor fails with `EINVAL`.
 */
export function openNetns(path: string): number {
    const fd = openFile(path);
    try {
        if (statfsSync(`/proc/self/fd/${fd}`).type === NSFS_MAGIC) return fd;
        throw notANetns(path);
    } catch (error) {
        closeSync(fd);
        throw error instanceof NetlinkError ? error : fileError(`read network namespace ${path}`, error);
    }
}

function openFile(path: string): number {
    try {
        return openSync(path, constants.O_RDONLY);
    } catch (cause) {
        throw fileError(`open network namespace ${path}`, cause);
    }
}

/**
 * The identity of the namespace at a path: two paths with the same device and inode are the same namespace. Rejects
 * with `NetlinkError` `ENOENT` if there is no file, `NOT_A_NETNS` if it is not a namespace (the empty file that remains
 * after an unmount), else with the errno by name.
 */
export async function netnsIdentity(path: string): Promise<{ readonly dev: bigint; readonly inode: bigint }> {
    try {
        const [file, system] = await Promise.all([stat(path, { bigint: true }), statfs(path)]);
        if (system.type !== NSFS_MAGIC) throw notANetns(path);
        return { dev: file.dev, inode: file.ino };
    } catch (cause) {
        throw cause instanceof NetlinkError ? cause : fileError(`read network namespace ${path}`, cause);
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

/** Returns, without throwing it, NetlinkError `NOT_A_NETNS` for the path at which there is another file. */
export function notANetns(path: string): NetlinkError {
    return new NetlinkError("NOT_A_NETNS", "environment", `${path} is no network namespace: its mount may be gone`);
}

/**
 * Returns, without throwing it, the NetlinkError of an error of node:fs, with its errno as code (`EIO` if it has none);
 * `what` names the operation.
 */
export function fileError(what: string, cause: unknown): NetlinkError {
    const code = isSystemError(cause) ? (cause.code as NetlinkErrorCode) : "EIO";
    return new NetlinkError(code, "environment", `${what}: ${code}`, { cause });
}

function abort(message: string): never {
    writeSync(2, `${message}\n`);
    process.abort();
}
