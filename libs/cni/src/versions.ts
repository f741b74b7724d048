import { CniCallError } from "./errors.ts";
import { shown } from "./shown.ts";

/** The versions of the CNI specification that are spoken, oldest first. */
export const supportedVersions = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] as const;

export type CniVersion = (typeof supportedVersions)[number];

/** The newest version: that of answers to callers who named none. */
export const currentVersion: CniVersion = "1.1.0";

export type CniCommand = "ADD" | "CHECK" | "DEL" | "GC" | "STATUS" | "VERSION";

/** Commands that came after the oldest version. */
const introducedIn: { readonly [Command in CniCommand]?: CniVersion } = {
    CHECK: "0.4.0",
    GC: "1.1.0",
    STATUS: "1.1.0",
};

/** The version if it is spoken, else `CniCallError` INCOMPATIBLE_CNI_VERSION; `key` is where the value stands. */
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

/** Refuses a command that the configuration's version does not have yet: `CniCallError` INCOMPATIBLE_CNI_VERSION. */
export function checkCommandVersion(command: CniCommand, version: CniVersion): void {
    const since = introducedIn[command];
    if (since === undefined || isAtLeast(version, since)) return;
    throw new CniCallError(
        "INCOMPATIBLE_CNI_VERSION",
        "caller",
        `cniVersion: ${shown(version)} does not have the command ${command}, which came with ${since}`,
    );
}

/** The answer to VERSION (CNI specification, section "VERSION Success"). */
export function versionAnswer(): {
    readonly cniVersion: CniVersion;
    readonly supportedVersions: readonly CniVersion[];
} {
    return { cniVersion: currentVersion, supportedVersions };
}
