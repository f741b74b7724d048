import { CniCallError } from "./errors.ts";
import { shown } from "./shown.ts";

/** The supported versions of the CNI specification, oldest first. */
export const supportedVersions = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] as const;

/** A supported version of the CNI specification. */
export type CniVersion = (typeof supportedVersions)[number];

/** The newest supported version, for answers to callers that gave none. */
export const currentVersion: CniVersion = "1.1.0";

/** A value of CNI_COMMAND (CNI specification, section "CNI operations"). */
export type CniCommand = "ADD" | "CHECK" | "DEL" | "GC" | "STATUS" | "VERSION";

/** The versions of commands that the oldest version does not have. */
const introducedIn: { readonly [Command in CniCommand]?: CniVersion } = {
    CHECK: "0.4.0",
    GC: "1.1.0",
    STATUS: "1.1.0",
};

/**
 * Returns the version if it is supported. Throws `CniCallError` INCOMPATIBLE_CNI_VERSION otherwise; `key` is the path
 * of the value, for the message.
 */
export function checkVersion(value: unknown, key = "cniVersion"): CniVersion {
    const version = supportedVersions.find((supported) => supported === value);
    if (version !== undefined) return version;
    throw new CniCallError(
        "INCOMPATIBLE_CNI_VERSION",
        "caller",
        `${key}: ${shown(value)} is not one of the supported versions ${supportedVersions.join(", ")}`,
    );
}

/** True if `version` is `other` or newer. */
export function isAtLeast(version: CniVersion, other: CniVersion): boolean {
    return supportedVersions.indexOf(version) >= supportedVersions.indexOf(other);
}

/**
 * Throws `CniCallError` INCOMPATIBLE_CNI_VERSION for a command that the configuration's version does not have yet:
 * CHECK came with 0.4.0, GC and STATUS with 1.1.0.
 */
export function checkCommandVersion(command: CniCommand, version: CniVersion): void {
    const since = introducedIn[command];
    if (since === undefined || isAtLeast(version, since)) return;
    throw new CniCallError(
        "INCOMPATIBLE_CNI_VERSION",
        "caller",
        `cniVersion: ${shown(version)} does not have the command ${command}, which came with ${since}`,
    );
}

/** The JSON object to print for VERSION (CNI specification, section "VERSION Success"). */
export function versionAnswer(): {
    readonly cniVersion: CniVersion;
    readonly supportedVersions: readonly CniVersion[];
} {
    return { cniVersion: currentVersion, supportedVersions };
}
