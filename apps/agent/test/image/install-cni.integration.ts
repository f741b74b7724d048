import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { InstallCni } from "./run-install-cni.ts";

// What root may do in a container with the capabilities that the chart gives it.

let machine: InstallCni;

beforeEach(() => {
    machine = new InstallCni();
    // As installers of clusters leave /opt/cni/bin: of a user of their own.
    execFileSync("chown", ["997", machine.target]);
    execFileSync("chmod", ["755", machine.target]);
});

afterEach(() => {
    machine[Symbol.dispose]();
});

const withCapabilities = (...names: readonly string[]): readonly string[] => {
    const kept = names.map((name) => `+${name.toLowerCase()}`);
    return ["setpriv", `--bounding-set=${["-all", ...kept].join(",")}`, "--inh-caps=-all"];
};

function capabilitiesOfChart(): readonly string[] {
    const template = readFileSync(
        new URL("../../../../charts/antrea/templates/agent/daemonset.yaml", import.meta.url),
        "utf8",
    );
    const added = /- name: install-cni.*?add: \[([^\]]*)\]/s.exec(template)?.[1] ?? "";
    return added
        .replaceAll(/\{\{.*?\}\}/g, "")
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "");
}

it("writes to a folder of another user with the capabilities of the chart", () => {
    const { code, stderr } = machine.run({ OVS_DATAPATH_TYPE: "netdev" }, withCapabilities(...capabilitiesOfChart()));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(readdirSync(machine.target)).toEqual(["antrea", "portmap"]);
});

it("reports what is wrong where it has none", () => {
    const { code, stderr } = machine.run({ OVS_DATAPATH_TYPE: "netdev" }, withCapabilities());
    expect(code).toBe(1);
    expect(stderr).toContain("of owner uid 997, mode 755");
    expect(stderr).toContain("DAC_OVERRIDE");
    expect(readdirSync(machine.target)).toEqual([]);
});
