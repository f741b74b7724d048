import { parseIp, parsePrefix } from "@antrea/ip";
import type { JournalEntry } from "../../../../../src/platform/host/uplink/journal-codec.ts";
import type { MovedAddress, MovedRoute, Snapshot } from "../../../../../src/platform/host/uplink/snapshot.ts";

export const address: MovedAddress = {
    ip: parseIp("10.0.0.2"),
    prefixLength: 24,
    scope: 0,
    flags: 0,
    label: "eth0",
    broadcast: parseIp("10.0.0.255"),
};

export const route: MovedRoute = {
    family: 4,
    dst: parsePrefix("0.0.0.0/0"),
    via: parseIp("10.0.0.1"),
    table: 254,
    protocol: 16,
    scope: 0,
    type: 1,
    metric: 100,
    onlink: false,
};

/** A snapshot with one of everything. */
export const snapshot: Snapshot = {
    takenAt: 1000,
    addresses: [
        address,
        {
            ip: parseIp("fd00::2"),
            prefixLength: 64,
            scope: 0,
            flags: 0x100,
            metric: 50,
            protocol: 2,
            peer: parseIp("fd00::9"),
            lifetime: { preferredSeconds: 100, validSeconds: Infinity },
        },
    ],
    routes: [
        { ...route, src: parseIp("10.0.0.2"), mtu: 1400, metrics: { 2: 1400, 16: "cubic" }, tos: 16, realms: 5 },
        {
            ...route,
            family: 6,
            dst: parsePrefix("::/0"),
            via: parseIp("fe80::1"),
            from: parsePrefix("fd00::/48"),
            expiresSeconds: 300,
            preference: 1,
        },
    ],
    neighbours: [{ ip: parseIp("10.0.0.1"), mac: "02:00:00:00:00:01", state: 4, flags: 0 }],
    altNames: ["enp0s3"],
};

export const entry: JournalEntry = {
    step: "switch",
    bootId: "boot",
    netns: "4:1",
    name: "eth0",
    physicalName: "eth0~",
    hostIndex: 7,
    nic: {
        index: 2,
        mac: "02:00:00:00:00:02",
        mtu: 1500,
        group: 0,
        up: true,
        promiscuous: false,
        txChecksumOffload: true,
        receiveMerging: false,
        ipv6Disabled: "0",
        addrGenMode: "0",
    },
    saved: snapshot,
};
