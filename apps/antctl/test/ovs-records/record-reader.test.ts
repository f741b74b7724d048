import { describe, expect, it } from "@jest/globals";
import { type PodInfo } from "../../src/cluster/index.ts";
import { CliError } from "../../src/errors.ts";
import { RecordReader } from "../../src/ovs-records/index.ts";
import { type ExecRequest, type ExecResult } from "../../src/pod-exec/index.ts";
import { pod } from "../support/objects.ts";

const agent = (node: string, o: Partial<PodInfo> = {}): PodInfo =>
    pod(`agent-${node}`, { namespace: "kube-system", nodeName: node, hostNetwork: true, ...o });
const empty = '{"headings":["name","external_ids"],"data":[]}';

function reader(agents: readonly PodInfo[], run: (request: ExecRequest) => Promise<ExecResult>): RecordReader {
    return new RecordReader({ cluster: { pods: async () => agents }, exec: { run } });
}

describe("RecordReader", () => {
    it("runs ovs-vsctl beside each agent, not in all at once, and reports Nodes by name", async () => {
        let running = 0;
        let most = 0;
        const requests: ExecRequest[] = [];
        const agents = Array.from({ length: 20 }, (_, at) => agent(`n${String(19 - at).padStart(2, "0")}`));
        const reads = await reader(agents, async (request) => {
            requests.push(request);
            running += 1;
            most = Math.max(most, running);
            await new Promise((resolve) => setTimeout(resolve, 1));
            running -= 1;
            return { stdout: empty, stderr: "", exitCode: 0 };
        }).read();
        expect(reads.map(({ kind, node }) => `${kind} ${node}`)).toEqual(
            Array.from({ length: 20 }, (_, at) => `read n${String(at).padStart(2, "0")}`),
        );
        expect(most).toBe(8);
        expect(requests[0]).toEqual({
            namespace: "kube-system",
            pod: "agent-n19",
            container: "antrea-ovs",
            command: ["ovs-vsctl", "--timeout=10", "--format=json", "--columns=name,external_ids", "list", "Port"],
        });
    });

    it("reports Nodes that cannot be read, and goes on", async () => {
        const agents = [agent("n1", { phase: "Pending" }), agent("n2"), agent("n3"), agent("n4")];
        const reads = await reader(agents, async ({ pod: name }) => {
            if (name === "agent-n2") throw new CliError("EXEC_FAILED", "environment", "refused", "ask");
            return { stdout: name === "agent-n3" ? "oops" : empty, stderr: "", exitCode: 0 };
        }).read();
        expect(reads).toEqual([
            { kind: "unread", node: "n1", reason: "its agent Pod kube-system/agent-n1 is Pending" },
            { kind: "unread", node: "n2", reason: "refused" },
            {
                kind: "unread",
                node: "n3",
                reason: expect.stringMatching(/^the output of ovs-vsctl cannot be used: it is no JSON/),
            },
            { kind: "read", node: "n4", records: [] },
        ]);
    });

    it("asks the Pod that runs while a DaemonSet replaces another", async () => {
        const asked: string[] = [];
        const agents = [
            agent("n1", { name: "old", deleting: true }),
            agent("n1", { name: "new" }),
            agent("n2", { name: "runs" }),
            agent("n2", { name: "starts", phase: "Pending" }),
            agent("", { name: "nowhere", nodeName: undefined }),
        ];
        await reader(agents, async ({ pod: name }) => {
            asked.push(name);
            return { stdout: empty, stderr: "", exitCode: 0 };
        }).read();
        expect(asked.sort()).toEqual(["new", "runs"]);
    });
});
