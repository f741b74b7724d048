import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isNodeNetns } from "../../../src/platform/host/node-netns.ts";

// A namespace is its file's device and inode, whatever the path: ordinary files stand for namespaces here.

let folder: string;

beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "antrea-node-netns-"));
    mkdirSync(join(folder, "proc/1/ns"), { recursive: true });
    writeFileSync(join(folder, "proc/1/ns/net"), "");
    linkSync(join(folder, "proc/1/ns/net"), join(folder, "bound"));
    writeFileSync(join(folder, "pod"), "");
    symlinkSync("/proc/self/ns/net", join(folder, "own"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each([
    ["the agent's own", "/proc/self/ns/net"],
    ["the agent's own by another path", "own"],
    ["that of the Node's first process", "proc/1/ns/net"],
    ["that of the Node's first process by another path", "bound"],
])("%s is the Node's", (_, path) => {
    expect(isNodeNetns(path.startsWith("/") ? path : join(folder, path), folder)).toBe(true);
});

it.each([
    ["another one", "pod"],
    ["nothing", "gone"],
    ["a path that no file can have", "a\0b"],
])("%s is not the Node's", (_, path) => {
    expect(isNodeNetns(join(folder, path), folder)).toBe(false);
});

it("without sight of the Node's first process the agent's own counts", () => {
    expect(isNodeNetns("/proc/self/ns/net", join(folder, "nowhere"))).toBe(true);
    expect(isNodeNetns(join(folder, "pod"), join(folder, "nowhere"))).toBe(false);
});
