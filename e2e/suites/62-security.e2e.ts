import { request } from "node:https";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { ofFamily } from "../fixture/addresses.ts";
import { allNodes, inAgent, internalIps, kubectl, shellOnNode, systemNamespace, workers } from "../fixture/cluster.ts";
import { CommandError, run } from "../fixture/run.ts";

/** The kernel's status of a process (proc(5), status). */
interface Rights {
    readonly user: string;
    readonly capabilities: string;
    readonly noNewPrivileges: string;
    readonly seccomp: string;
}

/** Of each process whose command line matches, on any Node. */
async function rightsOf(program: string): Promise<readonly Rights[]> {
    const script = `for pid in $(pgrep -f '[/]${program}.mjs'); do cat /proc/$pid/status; echo; done`;
    const texts = await Promise.all(allNodes.map((node) => shellOnNode(node, script)));
    const statuses = texts.flatMap((text) => text.split("\n\n")).filter((text) => text.includes("CapEff"));
    return statuses.map((text) => {
        const of = (key: string): string => new RegExp(`^${key}:\\s+(\\S+)`, "m").exec(text)?.[1] ?? "";
        return {
            user: of("Uid"),
            capabilities: of("CapEff"),
            noNewPrivileges: of("NoNewPrivs"),
            seccomp: of("Seccomp"),
        };
    });
}

/** GET over HTTPS, without verifying the certificate. */
async function get(host: string, port: number, path: string, token?: string): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    request({ host, port, path, headers, rejectUnauthorized: false, agent: false, timeout: 10_000 }, (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
    })
        .on("error", reject)
        .end();
    return promise;
}

describe("what the programs may do on a Node", () => {
    it.each(["antrea-controller", "antrea-webhook"])("%s is nobody, without any privilege", async (program) => {
        const processes = await rightsOf(program);
        expect(processes.length).toBeGreaterThan(0);
        for (const rights of processes) {
            expect(rights).toEqual({
                user: "65534",
                capabilities: "0000000000000000",
                noNewPrivileges: "1",
                // filter mode (seccomp(2))
                seccomp: "2",
            });
        }
    });

    it.each(allNodes)("sockets and files on %s are root's", async (node) => {
        // files of other programs may appear and disappear meanwhile
        const script = `stat -c '%A %U %n' /var/run/antrea/cni.sock /var/run/antrea/openvswitch/*.sock \
            /var/run/antrea/openvswitch/*.mgmt /var/run/antrea/openvswitch/ovs*d.ctl \
            /opt/cni/bin/antrea /etc/cni/net.d/10-antrea.conflist &&
            find /var/lib/antrea -ignore_readdir_race -type f -printf '%M %u %p\\n'`;
        const lines = (await shellOnNode(node, script)).trim().split("\n");
        const modeOf = (path: string): string | undefined =>
            lines.find((line) => line.endsWith(` ${path}`))?.split(" ")[0];
        expect(modeOf("/var/run/antrea/cni.sock")).toBe("srw-------");
        expect(modeOf("/etc/cni/net.d/10-antrea.conflist")).toBe("-rw-r--r--");
        expect(modeOf("/opt/cni/bin/antrea")).toBe("-rwxr-xr-x");
        expect(lines.filter((line) => line.split(" ")[1] !== "root")).toEqual([]);
        const inner = lines.filter((line) => line.includes("/openvswitch/") || line.includes("/var/lib/antrea/"));
        expect(inner.length).toBeGreaterThanOrEqual(5);
        // only root may connect to OVS, or read the stored state of OVS and the agent
        expect(inner.filter((line) => !/^[s-]r[w-][x-][r-][w-][x-]--- /.test(line))).toEqual([]);
    });
});

describe("who may ask the programs", () => {
    it.each<[string, string, number]>([
        ["antrea-agent", workers[0] ?? "", 10_350],
        ["antrea-controller", "", 10_349],
        ["antrea-webhook", "", 9_443],
    ])("%s shows its health to all, and metrics to who may see them", async (component, given, port) => {
        const fields = ["-o", "jsonpath={.items[0].spec.nodeName}"];
        const selector = ["-n", systemNamespace, "get", "pods", "-l", `component=${component}`];
        const node = given === "" ? await kubectl([...selector, ...fields]) : given;
        const host = ofFamily(await internalIps(node), "IPv4");
        const token = (await kubectl(["-n", "default", "create", "token", "default"])).trim();
        expect(await get(host, port, "/livez")).toBe(200);
        expect(await get(host, port, "/metrics")).toBe(401);
        expect(await get(host, port, "/metrics", "wrong")).toBe(403);
        expect(await get(host, port, "/metrics", token)).toBe(403);
    });
});

describe("with the token of the agent of one Node", () => {
    const [here = "", there = ""] = workers;
    let as: (args: readonly string[], input?: string) => Promise<string>;

    beforeAll(async () => {
        const path = "/var/run/secrets/kubernetes.io/serviceaccount/token";
        const token = await inAgent(here, "antrea-agent", ["cat", path]);
        const server = await kubectl(["config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"]);
        const connection = ["--kubeconfig=/dev/null", `--server=${server}`, "--insecure-skip-tls-verify"];
        // without the token, which an error message would contain
        as = async (args, input) => {
            try {
                const options = input === undefined ? {} : { input };
                return await run("kubectl", [...connection, `--token=${token}`, ...args], options);
            } catch (error) {
                return error instanceof CommandError ? error.output : "another error";
            }
        };
    });

    const annotate = (node: string): readonly string[] => {
        const annotations = { "node.antrea.io/mac-address": "02:00:00:00:00:01" };
        const patch = JSON.stringify({ metadata: { annotations } });
        return ["patch", "node", node, "--type=merge", `--patch=${patch}`, "--dry-run=server"];
    };

    it("nobody changes another Node", async () => {
        expect(await as(annotate(here))).toContain("patched");
        expect(await as(annotate(there))).toContain("it is not its own");
    });

    it("nobody claims an address for another Node", async () => {
        const allocation = (nodeName: string): string => {
            const owner = { kind: "Pod", namespace: "default", name: "p", uid: "u" };
            const pod = { ...owner, kind: undefined, nodeName, containerID: "c", interface: "eth0" };
            return JSON.stringify({
                apiVersion: "crd.antrea.io/v1alpha1",
                kind: "IPAllocation",
                metadata: { name: "192.0.2.68" },
                spec: { address: "192.0.2.68", block: "192.0.2.0/24", pool: "p", state: "Allocated", owner, pod },
            });
        };
        const create = ["create", "-f", "-", "--dry-run=server", "--validate=false"];
        expect(await as(create, allocation(here))).toContain("created");
        expect(await as(create, allocation(there))).toContain("it must be Allocated to a Pod of its own Node");
    });

    it.each(["secrets", "configmaps", "serviceaccounts", "statefulsets.apps"])("nobody reads %s", async (resource) => {
        expect(await as(["-n", systemNamespace, "get", resource])).toContain("Forbidden");
    });
});

describe("the images", () => {
    it("have the list of what is in them", async () => {
        const [node = ""] = workers;
        const text = await inAgent(node, "antrea-ovs", ["cat", "/usr/share/doc/antrea/antrea-agent.cdx.json"]);
        const { components } = JSON.parse(text) as {
            components: readonly { name: string; version: string; purl: string }[];
        };
        const installed = await inAgent(node, "antrea-ovs", ["dpkg-query", "-W", "-f", "${Package} ${Version}\n"]);
        const listed = components
            .filter(({ purl }) => purl.startsWith("pkg:deb/"))
            .map(({ name, version }) => `${name} ${version}`);
        expect(listed.sort()).toEqual(installed.trim().split("\n").sort());
        for (const name of [
            "koffi",
            "node",
            "@oven/bun-linux-x64-baseline",
            "github.com/containernetworking/plugins/plugins/meta/portmap",
            "github.com/containernetworking/plugins/plugins/meta/bandwidth",
        ]) {
            expect(components.map((one) => one.name)).toContain(name);
        }
    });
});
