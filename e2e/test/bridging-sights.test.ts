import { describe, expect, it } from "@jest/globals";
import { kinds } from "../fixture/bridging.ts";
import { addressesSeen, expectedSight, questionsOf, questionText } from "../fixture/bridging-sights.ts";

describe("whose address an endpoint sees of a bridged Pod", () => {
    const of = (client: 0 | 2, sight: string): readonly string[] =>
        questionsOf(client, kinds)
            .filter((question) => question.protocol === "TCP" && expectedSight(question) === sight)
            .map(questionText);

    it("is its own, of a Pod with a VLAN at every address", () => {
        expect(of(2, "Node")).toEqual([]);
        expect(of(2, "nobody")).toEqual(of(0, "nobody"));
    });

    it("is the Node's, of a Pod in VLAN 0 at a NodePort, if the endpoint is reached by the router", () => {
        expect(of(0, "Node")).toEqual(
            ["VLAN 0, far", "VLAN 2, near", "VLAN 2, far", "VLAN 3, near", "VLAN 3, far"].flatMap((end) =>
                ["Cluster", "Local"].map((policy) => `${end}, ${policy}, NodePort of its Node, TCP`),
            ),
        );
    });

    it("is nobody's at a ClusterIP of policy Local whose endpoint is on another Node", () => {
        const ends = kinds.map((kind) => (kind === "subnet" ? "subnet Pod" : `VLAN ${kind}`));
        expect(of(0, "nobody")).toEqual(ends.map((end) => `${end}, far, Local, ClusterIP, TCP`));
    });
});

it("the addresses that endpoints saw are read in the order of the questions", async () => {
    const scripts: string[] = [];
    const shell = (script: string): Promise<string> => {
        scripts.push(script);
        return Promise.resolve("2 \n1 [fd00::5]:40000\n0 10.0.0.5:40000\n");
    };
    const asked = [
        { ip: "10.96.0.1", port: 80, protocol: "TCP" },
        { ip: "10.96.0.1", port: 81, protocol: "UDP" },
        { ip: "10.96.0.2", port: 80, protocol: "TCP" },
    ] as const;
    expect(await addressesSeen(shell, "IPv4", asked)).toEqual(["10.0.0.5", "fd00::5", ""]);
    expect(scripts[0]).toContain("curl -s -m 3 http://10.96.0.1:80/clientip");
    expect(scripts[0]).toContain("nc -4 -u -w 1 10.96.0.1 81");
});
