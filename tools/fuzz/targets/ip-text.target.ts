import { isIP } from "node:net";
import {
    formatIp,
    formatMac,
    formatPrefix,
    formatRange,
    IpError,
    ipFromBytes,
    ipToBytes,
    parseIp,
    parseMac,
    parsePrefix,
    prefixContains,
    prefixOf,
    prefixRange,
    rangeOf,
    RangeSet,
} from "@antrea/ip";
import { allocationAddress, AllocationNameError, allocationName, blockText } from "@antrea/crd";
import { BrokenProperty, mustEqual, type Target } from "../target.ts";

/** Text of addresses, prefixes, ranges, MAC addresses and IPAllocation names. */
export const target: Target = {
    format: "text",
    seeds: () => [
        "10.0.0.1",
        "2001:db8::1",
        "::ffff:192.0.2.1",
        "10.0.0.0/8",
        "fd00::/8",
        "0a:1b:2c:3d:4e:5f",
        "10.0.0.1-10.0.0.9",
        "fd00-0-0-0-0-0-0-5",
        "fe80::1%eth0",
    ],
    tokens: ["::", ":", ".", "/", "-", "255", "256", "ffff", "%", "0x", "1:2:3:4:5:6:7:8", "\u0661"],
    maxBytes: 200,
    run: (input) => {
        const text = new TextDecoder().decode(input);
        const [first = "", last = ""] = text.split("-");
        tried(() => {
            const ip = parseIp(text);
            if (isIP(text) !== ip.family) throw new BrokenProperty(`${JSON.stringify(text)} is an address only to us`);
            mustEqual("an address written and read", parseIp(formatIp(ip)), ip);
            mustEqual("an address as bytes", ipFromBytes(ipToBytes(ip)), ip);
            mustEqual("the name of an allocation", allocationAddress(allocationName(ip)), ip);
            blockText(ip);
        });
        tried(() => {
            const prefix = parsePrefix(text);
            mustEqual("a prefix written and read", parsePrefix(formatPrefix(prefix)), prefix);
            const base = { family: prefix.family, value: prefix.base };
            mustEqual("the prefix of its first address", prefixOf(base, prefix.length), prefix);
            if (!prefixContains(prefix, base)) throw new BrokenProperty(`${text} has not its first address`);
            const range = prefixRange(prefix);
            if (RangeSet.of([range]).subtract(RangeSet.of([range])).isEmpty === false)
                throw new BrokenProperty("a - a");
        });
        tried(() => formatRange(rangeOf(parseIp(first), parseIp(last))));
        tried(() => {
            const mac = parseMac(text);
            mustEqual("a MAC address written and read", parseMac(formatMac(mac)), mac);
        });
        tried(() => mustEqual("an allocation's name", allocationName(allocationAddress(text)), text));
    },
    isRefusal: () => false,
};

function tried(work: () => void): void {
    try {
        work();
    } catch (error) {
        if (!(error instanceof IpError || error instanceof AllocationNameError) || error.fault === "internal")
            throw error;
    }
}
