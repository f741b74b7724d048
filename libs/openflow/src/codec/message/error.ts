import { type Reader } from "../wire/reader.ts";

/** An error of the switch, `ofp_error_msg`: OpenFlow 1.5 section 7.5.4. */
export interface ErrorMessage {
    readonly errorType: number;
    readonly errorCode: number;
    /** Experimenter id, for errors of a vendor's extension; `errorCode` is then the vendor's own. */
    readonly vendor?: number;
    /** Name of the error as Open vSwitch spells it, such as `OFPBAC_BAD_OUT_GROUP`; the numbers where it has none. */
    readonly name: string;
    /** The message that the switch rejected, or its first bytes (at least 64 of a longer one). */
    readonly data: Uint8Array;
}

const experimenterType = 0xffff;

/** Prefix and names by error type, in the order of their codes. */
const names: Readonly<Record<number, readonly [prefix: string, codes: string]>> = {
    0: ["OFPHFC", "INCOMPATIBLE EPERM"],
    1: [
        "OFPBRC",
        "BAD_VERSION BAD_TYPE BAD_STAT BAD_VENDOR BAD_SUBTYPE EPERM BAD_LEN BUFFER_EMPTY BUFFER_UNKNOWN BAD_TABLE_ID " +
            "IS_SECONDARY BAD_PORT BAD_PACKET MULTIPART_BUFFER_OVERFLOW MULTIPART_REQUEST_TIMEOUT " +
            "MULTIPART_REPLY_TIMEOUT MULTIPART_BAD_SCHED PIPELINE_FIELDS_ONLY UNKNOWN",
    ],
    2: [
        "OFPBAC",
        "BAD_TYPE BAD_LEN BAD_VENDOR BAD_VENDOR_TYPE BAD_OUT_PORT BAD_ARGUMENT EPERM TOO_MANY BAD_QUEUE BAD_OUT_GROUP " +
            "MATCH_INCONSISTENT UNSUPPORTED_ORDER BAD_TAG BAD_SET_TYPE BAD_SET_LEN BAD_SET_ARGUMENT BAD_SET_MASK BAD_METER",
    ],
    3: [
        "OFPBIC",
        "UNKNOWN_INST UNSUP_INST BAD_TABLE_ID UNSUP_METADATA UNSUP_METADATA_MASK BAD_EXPERIMENTER BAD_EXP_TYPE BAD_LEN " +
            "EPERM DUP_INST",
    ],
    4: [
        "OFPBMC",
        "BAD_TYPE BAD_LEN BAD_TAG BAD_DL_ADDR_MASK BAD_NW_ADDR_MASK BAD_WILDCARDS BAD_FIELD BAD_VALUE BAD_MASK BAD_PREREQ " +
            "DUP_FIELD EPERM",
    ],
    5: [
        "OFPFMFC",
        "UNKNOWN TABLE_FULL BAD_TABLE_ID OVERLAP EPERM BAD_TIMEOUT BAD_COMMAND BAD_FLAGS CANT_SYNC BAD_PRIORITY IS_SYNC",
    ],
    6: [
        "OFPGMFC",
        "GROUP_EXISTS INVALID_GROUP WEIGHT_UNSUPPORTED OUT_OF_GROUPS OUT_OF_BUCKETS CHAINING_UNSUPPORTED WATCH_UNSUPPORTED " +
            "LOOP UNKNOWN_GROUP CHAINED_GROUP BAD_TYPE BAD_COMMAND BAD_BUCKET BAD_WATCH EPERM UNKNOWN_BUCKET BUCKET_EXISTS",
    ],
    7: ["OFPPMFC", "BAD_PORT BAD_HW_ADDR BAD_CONFIG BAD_ADVERTISE EPERM"],
    8: ["OFPTMFC", "BAD_TABLE BAD_CONFIG EPERM"],
    12: [
        "OFPMMFC",
        "UNKNOWN METER_EXISTS INVALID_METER UNKNOWN_METER BAD_COMMAND BAD_FLAGS BAD_RATE BAD_BURST BAD_BAND BAD_BAND_VALUE " +
            "OUT_OF_METERS OUT_OF_BANDS",
    ],
    14: ["OFPBPC", "BAD_TYPE BAD_LEN BAD_VALUE TOO_MANY DUP_TYPE BAD_EXPERIMENTER BAD_EXP_TYPE BAD_EXP_VALUE EPERM"],
    17: [
        "OFPBFC",
        "UNKNOWN EPERM BAD_ID BUNDLE_EXIST BUNDLE_CLOSED OUT_OF_BUNDLES BAD_TYPE BAD_FLAGS MSG_BAD_LEN MSG_BAD_XID MSG_UNSUP " +
            "MSG_CONFLICT MSG_TOO_MANY MSG_FAILED TIMEOUT BUNDLE_IN_PROGRESS SCHED_NOT_SUPPORTED SCHED_FUTURE SCHED_PAST",
    ],
};

/**
 * The name of an OpenFlow error as Open vSwitch spells it, such as `OFPBAC_BAD_OUT_GROUP`; `error type 99 code 1` for
 * one without a name here.
 */
export function errorName(type: number, code: number): string {
    const [prefix, codes] = names[type] ?? ["", ""];
    const name = codes.split(" ")[code];
    return name === undefined || prefix === "" ? `error type ${type} code ${code}` : `${prefix}_${name}`;
}

/** Reads the body of an error message. Throws `OpenFlowError` `SHORT`. */
export function readError(reader: Reader): ErrorMessage {
    const errorType = reader.u16();
    const errorCode = reader.u16();
    if (errorType === experimenterType) {
        const vendor = reader.u32();
        const name = `error code ${errorCode} of vendor 0x${vendor.toString(16)}`;
        return { errorType, errorCode, vendor, name, data: reader.restCopy() };
    }
    return { errorType, errorCode, name: errorName(errorType, errorCode), data: reader.restCopy() };
}
