import { expect, it } from "@jest/globals";
import { NetlinkError } from "@antrea/netlink";
import type { PodNamespaces } from "../../../src/features/pod-network/link.ts";
import { prepareNetworkEnd } from "../../../src/features/pod-network/network-end.ts";
import { networkRecord } from "../../support/records.ts";

const record = networkRecord({ netns: "/run/netns/a" });

/** What is set in the Pod's namespace, a line each; the kernel refuses sysctls below `missing` with this errno. */
function prepared(
    hasAddresses: boolean,
    { missing = "none", errno = "ENOENT" as "ENOENT" | "EACCES", disableTxChecksumOffload = false } = {},
): readonly string[] {
    const set: string[] = [];
    const namespaces: Pick<PodNamespaces, "setSysctl" | "setTxChecksumOffload"> = {
        setSysctl: (netns, path, value) => {
            if (path.startsWith(missing)) throw new NetlinkError(errno, "environment", path);
            set.push(`${netns} ${path}=${value}`);
        },
        setTxChecksumOffload: (ifName, isOn, netns) => void set.push(`${netns} ${ifName} checksums ${isOn}`),
    };
    const options = { disableTxChecksumOffload, namespaces: namespaces as PodNamespaces };
    prepareNetworkEnd(record, hasAddresses, options);
    return set;
}

const arp = ["/run/netns/a net/ipv4/conf/eth1/arp_ignore=1", "/run/netns/a net/ipv4/conf/eth1/arp_announce=2"];

it("an interface with addresses takes nothing of router advertisements, one without no default route", () => {
    expect(prepared(true)).toEqual(["/run/netns/a net/ipv6/conf/eth1/accept_ra=0", ...arp]);
    expect(prepared(false)).toEqual(["/run/netns/a net/ipv6/conf/eth1/accept_ra_defrtr=0", ...arp]);
});

it("a kernel without IPv6 needs no setting of it; another refusal, or one for IPv4, is one of the ADD", () => {
    expect(prepared(true, { missing: "net/ipv6" })).toEqual(arp);
    expect(() => prepared(true, { missing: "net/ipv6", errno: "EACCES" })).toThrow("accept_ra");
    expect(() => prepared(false, { missing: "net/ipv4" })).toThrow("arp_ignore");
});

it("checksums are completed by the Pod where the datapath does not", () => {
    expect(prepared(true, { disableTxChecksumOffload: true }).at(-1)).toBe("/run/netns/a eth1 checksums false");
});
