import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { CniServer } from "../../../src/features/cni-server/index.ts";

let folder: string;
let socketPath: string;
const calls = { call: () => Promise.resolve(new Uint8Array()) };

beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "cni-server-"));
    socketPath = join(folder, "run", "cni.sock");
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe("the socket", () => {
    it("is there for its owner alone, and gone after stop, which may be called twice", async () => {
        const server = new CniServer({ calls }, { socketPath });
        await server.start();
        expect((await stat(socketPath)).mode & 0o777).toBe(0o600);
        await Promise.all([server.stop(), server.stop()]);
        await expect(stat(socketPath)).rejects.toMatchObject({ code: "ENOENT" });
    });

    it("of a process that took it over stays when the earlier one stops", async () => {
        const first = new CniServer({ calls }, { socketPath });
        const second = new CniServer({ calls }, { socketPath });
        await first.start();
        await second.start();
        const { ino } = await stat(socketPath);
        await first.stop();
        expect((await stat(socketPath)).ino).toBe(ino);
        await second.stop();
    });

    it("that cannot be made is an error that names it", async () => {
        await writeFile(join(folder, "run"), "a file where the folder should be");
        const server = new CniServer({ calls }, { socketPath });
        await expect(server.start()).rejects.toMatchObject({ code: "LISTEN_FAILED", fault: "environment" });
    });
});
