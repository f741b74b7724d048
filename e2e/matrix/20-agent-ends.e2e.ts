import { describe, it } from "@jest/globals";
import { endWhileStarting } from "../fixture/agent-ends.ts";
import { waitForAgents, workers } from "../fixture/cluster.ts";

describe("an agent that is ended while it starts", () => {
    it("ends at once at each of five moments", async () => {
        await endWhileStarting(workers[1] ?? "", [0, 150, 300, 450, 600]);
        await waitForAgents();
    });
});
