import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { eventually, freePort, TestApiServer } from "@antrea/kube/testing";
import { allServed, ControllerProcess, fetchLocal } from "./controller-process.ts";

const run = promisify(execFile);
const probe = new URL("../image/antrea-controller-probe", import.meta.url).pathname;
const waits = { timeoutMs: 60_000 };

describe("two controllers on one Node", () => {
    it("the new one is ready while the old one has the port, which it takes when the old one ends", async () => {
        await using server = await TestApiServer.start();
        const { api } = server.clients();
        const folder = mkdtempSync(join(tmpdir(), "antrea-update-"));
        using _folder = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
        /** What a probe of the kubelet would find, and what it would show. */
        const ask = async (name: string, path: string): Promise<string> => {
            const env = { ...process.env, PROBE_SOCKET: join(folder, name) };
            return run(probe, [path], { env }).then(
                ({ stdout }) => stdout,
                ({ stdout }: { readonly stdout: string }) => `failed: ${stdout}`,
            );
        };
        const apiPort = await freePort();
        const start = (name: string): Promise<ControllerProcess> =>
            ControllerProcess.start(server, {
                name,
                apiPort,
                probeSocket: join(folder, name),
                nodeIPAM: { clusterCIDRs: ["10.244.0.0/16"] },
            });
        await server.addNode("a");
        await using old = await start("old");
        await allServed(api, 1, 1);
        await eventually(async () => (await ask("old", "/readyz")) === "ok\n", waits);
        expect(await ask("new", "/livez")).toMatch(/^failed: cannot connect to/);

        await using next = await start("new");
        await eventually(async () => (await ask("new", "/readyz")) === "ok\n", waits);
        expect(await ask("new", "/livez")).toBe("ok\n");
        expect(await ask("new", "/other")).toMatch(/^failed: known are/);
        expect(next.output).toContain("port is in use; listening once it is free");
        expect(next.leading).toBe(false);

        // The probes of the one that is gone find nobody, though the other one works on.
        old.signal("SIGTERM");
        expect(await old.ended()).toBe(0);
        expect(await ask("old", "/readyz")).toMatch(/^failed: /);
        await eventually(() => next.leading, waits);
        const serves = (): Promise<readonly [number, string] | false> =>
            fetchLocal(apiPort, "/readyz").catch(() => false as const);
        expect(await eventually(serves, waits)).toEqual([200, "ok\n"]);
        await server.addNode("b");
        await allServed(api, 2, 1);
    });
});
