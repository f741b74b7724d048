import { AntreaError } from "@antrea/errors";

/** Codes of SettingsError: invalid YAML, invalid values, or a defect. */
export type SettingsErrorCode =
    /** The text is not valid YAML, has a duplicate key, is too long or is not a map; `details.line` where known. */
    | "BAD_YAML"
    /** Values violate their rules; `details.findings` is the list of {@link Finding}. */
    | "WRONG_VALUES"
    /** A defect of this library: values remained invalid after they were removed. */
    | "UNREADABLE_SETTINGS";

/** Details of SettingsError; each is set only for the code that its comment names. */
export interface SettingsErrorDetails {
    /** Line number from 1; set for `BAD_YAML` where known. */
    readonly line: number;
    /** Set for `WRONG_VALUES`; empty if there are too many. */
    readonly findings: readonly Finding[];
}

/**
 * A settings file that is not usable. The message of `WRONG_VALUES` lists every invalid key with its value and rule, or
 * has only their number if they are more than 200. The fault is `caller`, of `UNREADABLE_SETTINGS` `internal`.
 */
export class SettingsError extends AntreaError<SettingsErrorCode, SettingsErrorDetails> {}

/** One invalid value of a settings file, with its key, rule and line. */
export interface Finding {
    /** Dotted key, e.g. `nodeIPAM.clusterCIDRs[1]`. */
    readonly key: string;
    /**
     * The value as JSON, truncated to 80 characters; a default is followed by `(default)`, `(missing)` is a required
     * key.
     */
    readonly value: string;
    /** The requirement on the value. */
    readonly rule: string;
    /** Line number in the file from 1; undefined for a value that the file does not contain. */
    readonly line: number | undefined;
}
