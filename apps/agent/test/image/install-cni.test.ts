import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InstallCni } from "./run-install-cni.ts";

let machine: InstallCni;

beforeEach(() => {
    machine = new InstallCni();
});

afterEach(() => {
    machine[Symbol.dispose]();
});

describe("the CNI binaries", () => {
    it("are put on the Node, executable, over those of another version", () => {
        writeFileSync(join(machine.target, "antrea"), "old", { mode: 0o600 });
        expect(machine.run({ OVS_DATAPATH_TYPE: "netdev" })).toMatchObject({ code: 0 });
        expect(readdirSync(machine.target)).toEqual(["antrea", "portmap"]);
        for (const name of ["antrea", "portmap"]) {
            expect(readFileSync(join(machine.target, name), "utf8")).toBe(`new ${name}`);
            expect(statSync(join(machine.target, name)).mode & 0o777).toBe(0o755);
        }
    });

    it("that are to be skipped are left alone", () => {
        const { code, stdout } = machine.run({ OVS_DATAPATH_TYPE: "netdev", SKIP_CNI_BINARIES: "portmap" });
        expect({ code, files: readdirSync(machine.target) }).toEqual({ code: 0, files: ["antrea"] });
        expect(stdout).toContain("skipped portmap");
    });

    it("leave nothing of an installation that was killed, of those that are skipped neither", () => {
        for (const name of [".antrea.new", ".portmap.new", ".other.new"])
            writeFileSync(join(machine.target, name), "half");
        expect(machine.run({ OVS_DATAPATH_TYPE: "netdev", SKIP_CNI_BINARIES: "portmap" })).toMatchObject({ code: 0 });
        expect(readdirSync(machine.target)).toEqual([".other.new", "antrea"]);
    });

    it("that cannot be written end in an error that names the folder and what to do", () => {
        const { code, stderr } = machine.run({ OVS_DATAPATH_TYPE: "netdev", HOST_CNI_BIN: join(machine.target, "no") });
        expect(code).toBe(1);
        expect(stderr).toContain(`antrea cannot be written to ${join(machine.target, "no")}`);
        expect(stderr).toMatch(/next: .*cni\.skipBinaries/s);
    });
});

describe("the kernel module of OVS", () => {
    it("is not loaded where the kernel has it already, whatever modprobe would say", () => {
        machine.make("sys/module/openvswitch/refcnt", "1");
        expect(machine.run()).toMatchObject({
            code: 0,
            stdout: expect.stringContaining("openvswitch is in the kernel"),
        });
        expect(machine.loaded).toEqual([]);
    });

    it("may be built in", () => {
        machine.make("proc/kallsyms", "0000000000000000 T __ovs_vport_ops_register\n");
        expect(machine.run()).toMatchObject({
            code: 0,
            stdout: expect.stringContaining("openvswitch is in the kernel"),
        });
        expect(machine.loaded).toEqual([]);
    });

    it("is loaded where it is missing", () => {
        machine.make("proc/kallsyms", "0000000000000000 T tcp_v4_rcv\n");
        machine.modprobe(0);
        expect(machine.run()).toMatchObject({ code: 0, stdout: expect.stringContaining("loaded openvswitch") });
        expect(machine.loaded).toEqual(["openvswitch"]);
    });

    it("that cannot be loaded ends in an error with the next step", () => {
        const { code, stderr } = machine.run();
        expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("set ovs.datapathType=netdev") });
    });

    it.each([[{ OVS_DATAPATH_TYPE: "netdev" }], [{ SKIP_LOADING_KERNEL_MODULES: "1" }]])(
        "is nobody's business with %j",
        (env) => {
            expect(machine.run(env)).toMatchObject({ code: 0 });
            expect(machine.loaded).toEqual([]);
            expect(existsSync(join(machine.target, "antrea"))).toBe(true);
        },
    );
});
