export {
    compareIp,
    familyBits,
    formatIp,
    ipFromBytes,
    ipToBytes,
    parseIp,
    sameIp,
    type Family,
    type IpAddress,
} from "./address.ts";
export { concatBytes, internetChecksum } from "./bytes.ts";
export { IpError, quote } from "./error.ts";
export { formatMac, linkLocalFromMac, macFromBigint, macToBigint, parseMac } from "./mac.ts";
export {
    addressInPrefix,
    formatPrefix,
    parsePrefix,
    prefixAt,
    prefixContains,
    prefixIndexOf,
    prefixMask,
    prefixOf,
    prefixSize,
    prefixesOverlap,
    type ParsePrefixOptions,
    type Prefix,
} from "./prefix.ts";
export {
    compareRanges,
    formatRange,
    prefixRange,
    rangeContains,
    rangeOf,
    rangeSize,
    rangesOverlap,
    type IpRange,
} from "./range.ts";
export { RangeIndex, type IndexedRange } from "./range-index.ts";
export { RangeSet } from "./range-set.ts";
export { formatRangeSet } from "./format-range-set.ts";
export { minMtuOfIpv6 } from "./mtu.ts";
export { specialUse, unroutedUse, type SpecialUse } from "./special-use.ts";
