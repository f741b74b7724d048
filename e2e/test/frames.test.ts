import { describe, expect, it } from "@jest/globals";
import { framesIn } from "../fixture/frames.ts";

describe("framesIn", () => {
    it("reads addresses and tags of frames, and no other line", () => {
        const output = [
            "tcpdump: verbose output suppressed, use -v[v]... for full protocol decode",
            "listening on eth2n1, link-type EN10MB (Ethernet), snapshot length 256 bytes",
            "0a:58:0a:46:64:0a > ff:ff:ff:ff:ff:ff, ethertype 802.1Q (0x8100), length 46: vlan 100, p 0, ethertype ARP (0x0806), Request who-has 10.70.100.1 tell 10.70.100.10, length 28",
            "02:00:00:00:00:07 > ff:ff:ff:ff:ff:ff, ethertype Unknown (0x88b5), length 60: ",
            "\t0x0000:  6161 6161 6161 6161 6161 6161 6161 6161  aaaaaaaaaaaaaaaa",
        ];
        expect(framesIn(output.join("\n"))).toEqual([
            { vlan: 100, source: "0a:58:0a:46:64:0a", destination: "ff:ff:ff:ff:ff:ff", text: output[2] },
            { vlan: 0, source: "02:00:00:00:00:07", destination: "ff:ff:ff:ff:ff:ff", text: output[3] },
        ]);
    });
});
