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
export { IpError } from "./error.ts";
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
