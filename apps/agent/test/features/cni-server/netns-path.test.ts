import { expect, it } from "@jest/globals";
import { netnsPathHere } from "../../../src/features/cni-server/netns-path.ts";

it.each<[string, string, string]>([
    ["of containerd and CRI-O stays", "/var/run/netns/cni-1", "/var/run/netns/cni-1"],
    ["by the other name of that folder stays", "/run/netns/cni-1", "/run/netns/cni-1"],
    ["of a process is that of the Node, not one of the agent's container", "/proc/7/ns/net", "/host/proc/7/ns/net"],
    ["of a thread", "/proc/7/task/8/ns/net", "/host/proc/7/task/8/ns/net"],
    [
        "in containerd's own folder is reached by the Node's first process",
        "/run/containerd/io.containerd.cri.v1.runtime/netns/cni-1",
        "/host/proc/1/root/run/containerd/io.containerd.cri.v1.runtime/netns/cni-1",
    ],
    ["beside the known folder", "/var/run/netns-1/x", "/host/proc/1/root/var/run/netns-1/x"],
    ["of whoever reads it stays: nobody else can", "/proc/self/ns/net", "/proc/self/ns/net"],
])("the path %s", (_, path, expected) => {
    expect(netnsPathHere(path, "/host")).toBe(expected);
    expect(netnsPathHere(path, "/host/")).toBe(expected);
});

it.each(["/proc/7/ns/net", "/var/run/netns/cni-1", "/somewhere/else"])(
    "%s stays where the agent runs on the Node itself",
    (path) => {
        expect(netnsPathHere(path, "/")).toBe(path);
        expect(netnsPathHere(path, "")).toBe(path);
    },
);
