import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "../../src/platform/environment.ts";

let folder: string;
let configPath: string;

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "environment-"));
    configPath = join(folder, "antrea-agent.conf");
});

afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
});

describe("the environment", () => {
    it("has defaults", () => {
        expect(readEnvironment(configPath, {})).toEqual({
            nodeName: hostname(),
            podName: hostname(),
            podNamespace: "kube-system",
            bootId: expect.stringMatching(/^[0-9a-f-]{36}$/),
            stateFolder: "/var/lib/antrea",
            cniConfFolder: "/host/etc/cni/net.d",
            cniConfMode: 0o644,
            conflist: undefined,
        });
    });

    it("has the same defaults for names that are empty", () => {
        const env = { NODE_NAME: "", POD_NAME: "", POD_NAMESPACE: "" };
        expect(readEnvironment(configPath, env)).toEqual(readEnvironment(configPath, {}));
    });

    it("is what the Pod was given", () => {
        const text = '{"cniVersion":"1.1.0"}';
        writeFileSync(join(folder, "antrea-cni.conflist"), text);
        const own = { NODE_NAME: "n", POD_NAME: "p", POD_NAMESPACE: "network" };
        const env = { ...own, CNI_CONF_DIR: "/etc/x", CONFIG_FILE_MODE: "0600" };
        expect(readEnvironment(configPath, env)).toMatchObject({
            nodeName: "n",
            podName: "p",
            podNamespace: "network",
            stateFolder: "/var/lib/antrea",
            cniConfFolder: "/etc/x",
            cniConfMode: 0o600,
            conflist: text,
        });
    });

    it.each(["", "rw-r--r--", "9", "888", "06444"])("refuses the file mode %j", (CONFIG_FILE_MODE) => {
        expect(() => readEnvironment(configPath, { CONFIG_FILE_MODE })).toThrow(
            expect.objectContaining({ code: "BAD_FILE_MODE", message: expect.stringContaining("CONFIG_FILE_MODE") }),
        );
    });
});
