import { beforeEach, describe, expect, it } from "@jest/globals";
import { messageOf } from "@antrea/errors";
import { createCniBackend, type PodWiring } from "../../../src/features/cni-server/backend.ts";
import type { AddressBackend } from "../../../src/features/cni-server/address-calls.ts";
import type { CniBackend } from "../../../src/features/cni-server/index.ts";
import { Readiness } from "../../../src/platform/readiness.ts";
import { podRecord } from "../../support/records.ts";
import {
    type AddRequest,
    fromAlias,
    networkHash,
    networkOfHash,
    type PodInterface,
    type PodRecord,
    toAlias,
} from "../../../src/platform/pod-interfaces/index.ts";

/** The Pod network without a kernel: it remembers what is wired and what was deleted. */
class FakeNetwork implements PodWiring {
    readonly wired = new Map<string, PodInterface>();
    readonly deleted: string[] = [];
    netns: string | undefined;

    interfaces(): readonly PodInterface[] {
        return [...this.wired.values()];
    }

    find(containerId: string, ifName: string): PodInterface | undefined {
        return this.wired.get(`${containerId} ${ifName}`);
    }

    add(request: AddRequest): Promise<PodRecord> {
        if (this.deleted.includes(`${request.containerId} ${request.ifName}`)) {
            return Promise.reject(new Error("deleted meanwhile"));
        }
        this.netns = request.netns;
        const record = podRecord({ ...request, netns: "" });
        this.wire(record.containerId, 0, record);
        return Promise.resolve(record);
    }

    delete(containerId: string, ifName: string): Promise<void> {
        this.deleted.push(`${containerId} ${ifName}`);
        this.wired.delete(`${containerId} ${ifName}`);
        return Promise.resolve();
    }

    wire(containerId: string, addedAt: number, record = podRecord({ containerId })): void {
        this.wired.set(`${containerId} ${record.ifName}`, { record, ofPort: 32784, addedAt });
    }
}

let network: FakeNetwork | undefined;
let readiness: Readiness;
let backend: CniBackend;
let asked: string[];
let checked: string[];
const { signal } = new AbortController();
const request = {
    containerId: "c1",
    ifName: "eth0",
    netns: "/var/run/netns/1",
    podNamespace: "default",
    podName: "web-0",
    podUid: "uid-0",
    network: "antrea",
    receivedAt: 100,
};

beforeEach(() => {
    network = new FakeNetwork();
    readiness = new Readiness({ records: "the Pod interfaces of this Node are not rebuilt" });
    asked = [];
    checked = [];
    backend = createCniBackend({
        readiness,
        network: () => network,
        errorCodes: [],
        check: (_known, { netns }) => Promise.resolve(void checked.push(netns)),
        netnsPath: (path) => `/host${path}`,
        isNodeNetns: (path) => path === "/host/proc/1/ns/net",
        networkName: "antrea",
        podUid: (namespace, name) => {
            asked.push(`${namespace}/${name}`);
            return Promise.resolve("uid-live");
        },
    });
});

describe("ADD", () => {
    it("answers with the namespace of the caller, which a rebuilt record may lack", async () => {
        expect(await backend.add(request, signal)).toMatchObject({ netns: "/var/run/netns/1", podUid: "uid-0" });
        expect(asked).toEqual([]);
    });

    it("wires the namespace by its path here, and CHECK reads it by the same", async () => {
        await backend.add(request, signal);
        expect(network?.netns).toBe("/host/var/run/netns/1");
        await backend.check({ ...request, previous: undefined });
        expect(checked).toEqual(["/host/var/run/netns/1"]);
    });

    it("asks for the UID of the Pod when the runtime sent none", async () => {
        expect(await backend.add({ ...request, podUid: "" }, signal)).toMatchObject({ podUid: "uid-live" });
        expect(asked).toEqual(["default/web-0"]);
    });
});

describe("before the network is built", () => {
    it("CHECK reports what is missing", async () => {
        network = undefined;
        await expect(backend.check({ ...request, previous: undefined })).rejects.toMatchObject({
            code: "NOT_READY",
            message: "the Pod interfaces of this Node are not rebuilt",
        });
    });

    it("DEL succeeds, is made good once the network is there, and stops the ADD that waits", async () => {
        network = undefined;
        await backend.delete({ containerId: "c1", ifName: "eth0" });
        await backend.delete({ containerId: "c1", ifName: "eth0" });
        const built = new FakeNetwork();
        built.wire("c1", 0);
        network = built;
        await expect(backend.add(request, signal)).rejects.toThrow("deleted meanwhile");
        expect(built.deleted).toEqual(["c1 eth0"]);
        expect(built.wired.size).toBe(0);
        await backend.delete({ containerId: "c2", ifName: "eth0" });
        expect(built.deleted).toEqual(["c1 eth0", "c2 eth0"]);
    });
});

describe("GC", () => {
    it("removes what is older than the call and in no container of the list, which may name eth0 only", async () => {
        for (const [containerId, addedAt] of [
            ["old", 10],
            ["valid", 10],
            ["new", 200],
        ] as const) {
            network?.wire(containerId, addedAt);
        }
        network?.wire("valid", 10, podRecord({ containerId: "valid", ifName: "net1" }));
        expect(await backend.collect("antrea", [{ containerId: "valid", ifName: "eth0" }], 100)).toBe(1);
        expect(network?.deleted).toEqual(["old eth0"]);
    });

    it("removes what is of its own network; what names none, of an earlier agent, is of the network of the Node's configuration", async () => {
        const rebuilt = networkOfHash(networkHash("antrea"));
        const networks = { ours: "antrea", earlier: undefined, rebuilt, theirs: "storage" };
        for (const [containerId, name] of Object.entries(networks)) {
            network?.wire(containerId, 10, podRecord({ containerId, network: name }));
        }
        expect(await backend.collect("backup", [], 100)).toBe(0);
        expect(await backend.collect("antrea", [{ containerId: "ours", ifName: "eth0" }], 100)).toBe(2);
        expect(network?.deleted).toEqual(["earlier eth0", "rebuilt eth0"]);
        expect(await backend.collect("storage", [], 100)).toBe(1);
        expect(await backend.collect("antrea", [], 100)).toBe(1);
        expect(network?.deleted).toEqual(["earlier eth0", "rebuilt eth0", "theirs eth0", "ours eth0"]);
    });
});

describe("GC after the database of OVS was lost", () => {
    /** As the next agent rebuilds it from the alias of its link, which an agent of today or an earlier one wrote. */
    function wireRebuilt(containerId: string, network: string | undefined): void {
        const alias = toAlias(podRecord({ containerId, network }));
        const rebuilt = networkOfHash(fromAlias(alias)?.networkHash);
        fake().wire(containerId, 10, podRecord({ containerId, network: rebuilt }));
    }

    const fake = (): FakeNetwork => network as FakeNetwork;

    it("leaves living interfaces of other networks alone, and removes garbage of its own", async () => {
        wireRebuilt("ours", "antrea");
        wireRebuilt("garbage", "antrea");
        wireRebuilt("theirs", "storage");
        expect(await backend.collect("antrea", [{ containerId: "ours", ifName: "eth0" }], 100)).toBe(1);
        expect(await backend.collect("storage", [{ containerId: "theirs", ifName: "eth0" }], 100)).toBe(0);
        expect(fake().deleted).toEqual(["garbage eth0"]);
        expect(await backend.collect("storage", [], 100)).toBe(1);
    });

    it("removes nothing of which nobody knows the network: an earlier agent wrote the alias", async () => {
        wireRebuilt("earlier", undefined);
        expect(await backend.collect("antrea", [], 100)).toBe(0);
        expect(await backend.collect("storage", [], 100)).toBe(0);
        expect(fake().deleted).toEqual([]);
    });
});

describe("the network namespace of the Node itself", () => {
    const ofNode = { ...request, netns: "/proc/1/ns/net" };
    const refusal = {
        code: "INVALID_ENVIRONMENT_VARIABLES",
        message:
            'CNI_NETNS: "/proc/1/ns/net" is the network namespace of the Node itself, not of container c1; the process it names may have ended, and a process of the Node have its number now; next: let the runtime make the sandbox of Pod default/web-0 anew',
    };

    it("ADD refuses it before anything is made", async () => {
        await expect(backend.add(ofNode, signal)).rejects.toMatchObject(refusal);
        expect(network?.netns).toBeUndefined();
    });

    it("CHECK refuses it, DEL succeeds", async () => {
        await backend.add(request, signal);
        await expect(backend.check({ ...ofNode, previous: undefined })).rejects.toMatchObject({
            code: "INVALID_ENVIRONMENT_VARIABLES",
            message: expect.stringContaining("is the network namespace of the Node itself"),
        });
        expect(checked).toEqual([]);
        await backend.delete(ofNode);
        expect(network?.deleted).toEqual(["c1 eth0"]);
    });
});

it("CHECK of what is not wired reports it", async () => {
    await expect(backend.check({ ...request, previous: undefined })).rejects.toMatchObject({ code: "NO_RECORD" });
});

describe("addresses for interfaces of other plugins", () => {
    const call = { ...request, ifName: "net1", network: "macnet", type: "macvlan" } as never;
    let given: string[];
    let built: boolean;
    let late: CniBackend & { networkBuilt(): void };

    beforeEach(() => {
        [given, built] = [[], false];
        const addresses: AddressBackend = {
            add: ({ ifName, podUid }) => Promise.resolve((given.push(`add ${ifName} ${podUid}`), [])),
            refused: ({ ifName, podUid }, error) => void given.push(`refused ${ifName} ${podUid} ${messageOf(error)}`),
            delete: ({ ifName }) => Promise.resolve(void given.push(`delete ${ifName}`)),
            check: ({ network: name }) => Promise.resolve(void given.push(`check ${name}`)),
            collect: (name) => Promise.resolve(given.push(`collect ${name}`)),
        };
        late = createCniBackend({
            readiness,
            network: () => network,
            addresses: () => (built ? addresses : undefined),
            errorCodes: [],
            check: () => Promise.resolve(),
            netnsPath: (path) => path,
            isNodeNetns: () => false,
            networkName: "antrea",
            podUid: () => Promise.resolve("uid-live"),
        });
    });

    it("that are refused are reported with the Pod's UID, once they are built", async () => {
        const pod = { containerId: "c1", ifName: "net1", podNamespace: "default", podName: "web-0", podUid: "uid-0" };
        late.addresses?.refused(pod, new Error("too early"));
        built = true;
        late.addresses?.refused(pod, new Error("twice"));
        late.addresses?.refused({ ...pod, podUid: "" }, new Error("twice"));
        await Promise.resolve();
        expect(given).toEqual(["refused net1 uid-0 twice", "refused net1 uid-live twice"]);
    });

    it("are not there without pools", () => {
        expect(backend.addresses).toBeUndefined();
    });

    it("are given once they are built; a DEL before that is made good then, once", async () => {
        const net1 = { containerId: "c1", ifName: "net1" };
        await late.addresses?.delete(net1);
        await late.addresses?.delete(net1);
        for (const early of [
            late.addresses?.add(call, signal),
            late.addresses?.check({ ...net1, network: "macnet" }, []),
            late.addresses?.collect("macnet", [], 0),
        ]) {
            await expect(early).rejects.toMatchObject({ code: "NOT_READY", fault: "timeout" });
        }
        built = true;
        late.networkBuilt();
        late.networkBuilt();
        expect(given).toEqual(["delete net1"]);
        await late.addresses?.add({ ...(call as object), podUid: "" } as never, signal);
        await late.addresses?.add(call, signal);
        await late.addresses?.check({ ...net1, network: "macnet" }, []);
        await late.addresses?.collect("macnet", [], 0);
        await late.addresses?.delete(net1);
        expect(given.slice(1)).toEqual([
            "add net1 uid-live",
            "add net1 uid-0",
            "check macnet",
            "collect macnet",
            "delete net1",
        ]);
    });
});
