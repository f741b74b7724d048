import { describe, expect, it } from "@jest/globals";
import { missingFeatures, parseFeatures, requiredFeatures } from "../../../../src/platform/ovs/datapath/features.ts";

/** As Open vSwitch 3.1 prints it for a bridge of the userspace datapath. */
const answer = `Masked set action: Yes
Tunnel push pop: Yes
Ufid: Yes
Truncate action: Yes
Clone action: Yes
Sample nesting: 10
Conntrack eventmask: Yes
Conntrack clear: Yes
Max dp_hash algorithm: 1
Check pkt length action: Yes
Conntrack timeout policy: Yes
Explicit Drop action: Yes
Optimized Balance TCP mode: Yes
Conntrack all-zero IP SNAT: Yes
MPLS Label add: Yes
Max VLAN headers: 1
Max MPLS depth: 3
Recirc: Yes
CT state: Yes
CT zone: Yes
CT mark: Yes
CT label: Yes
CT state NAT: Yes
CT orig tuple: Yes
CT orig tuple for IPv6: Yes
IPv6 ND Extension: Yes
`;

describe("the features of a datapath", () => {
    it("are all read", () => {
        const features = parseFeatures(answer);
        expect(features.size).toBe(26);
        expect(features.get("CT orig tuple for IPv6")).toBe("Yes");
        expect(features.get("Sample nesting")).toBe("10");
        expect(missingFeatures(features)).toEqual([]);
    });

    it.each(requiredFeatures)("lack %s when it is No, and when it is not listed", (name) => {
        const no = answer.replace(`${name}: Yes\n`, `${name}: No\n`);
        expect(missingFeatures(parseFeatures(no))).toEqual([name]);
        const without = answer.replace(`${name}: Yes\n`, "");
        expect(missingFeatures(parseFeatures(without))).toEqual([name]);
    });

    it.each([
        ["nothing", ""],
        ["words of somebody else", "usage: dpif/show-dp-features bridge"],
        ["lines without a name", ": Yes\n:\n"],
        ["ends of lines of another system", "CT zone\r\nCT mark=Yes\r\n"],
    ])("are all missing from %s", (_, text) => {
        expect(missingFeatures(parseFeatures(text))).toEqual(requiredFeatures);
    });

    it("with spaces and ends of lines of another system count", () => {
        expect(parseFeatures("  CT zone :  Yes \r\n").get("CT zone")).toBe("Yes");
    });
});
