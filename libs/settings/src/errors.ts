import { AntreaError } from "@antrea/errors";

export type SettingsErrorCode =
    /** The text is no YAML, has a key twice, is too long or is no map; `details.line` where known. */
    | "BAD_YAML"
    /** Values break their rules; `details.findings` is the list of {@link Finding}. */
    | "WRONG_VALUES"
    /** A defect of ours: what was found wrong is still there when it was taken out. */
    | "UNREADABLE_SETTINGS";

export interface SettingsErrorDetails {
    /** From 1; of `BAD_YAML`, where known. */
    readonly line: number;
    /** Of `WRONG_VALUES`; empty when there are too many. */
    readonly findings: readonly Finding[];
}

/** A settings file that cannot be used. Its message names every wrong key with its value and rule. */
export class SettingsError extends AntreaError<SettingsErrorCode, SettingsErrorDetails> {}

/** One wrong value. */
export interface Finding {
    /** The dotted key, e.g. `nodeIPAM.clusterCIDRs[1]`. */
    readonly key: string;
    /** The value as JSON, shortened; `(default)` follows one that the file does not have. */
    readonly value: string;
    /** What the value must be. */
    readonly rule: string;
    /** Where it stands in the file, from 1; undefined for what the file does not have. */
    readonly line: number | undefined;
}
