import { describe, expect, it } from "@jest/globals";
import { MemoryLog } from "@antrea/runtime/testing";
import {
    datapathOf,
    DatapathProbe,
    UnixctlError,
    type DatapathType,
} from "../../../../src/platform/ovs/datapath/index.ts";
import { requiredFeatures } from "../../../../src/platform/ovs/datapath/features.ts";
import { Readiness } from "../../../../src/platform/readiness.ts";

const featuresOf = (no: readonly string[] = []): string =>
    requiredFeatures.map((name) => `${name}: ${no.includes(name) ? "No" : "Yes"}\n`).join("");

const setting = "dpctl/ct-disable-tcp-seq-chk netdev@ovs-netdev";

/** An ovs-vswitchd that answers from a table of command lines and takes its setting; an error is thrown. */
class ScriptedControl {
    answers: Readonly<Record<string, string | Error>> = {};

    async request(command: string, args: readonly string[] = [], signal?: AbortSignal): Promise<string> {
        signal?.throwIfAborted();
        const line = [command, ...args].join(" ");
        const answer = this.answers[line] ?? (line === setting ? "" : undefined) ?? refusal(`no answer for ${line}`);
        if (answer instanceof Error) throw answer;
        return Promise.resolve(answer);
    }
}

function refusal(answer: string): UnixctlError {
    return new UnixctlError("REFUSED", "environment", `refused: ${answer}`, { details: { answer } });
}

function probeOf(type: DatapathType, quietMs = 0) {
    const control = new ScriptedControl();
    const readiness = new Readiness({ datapath: "the datapath of OVS is not known" });
    const log = new MemoryLog();
    const probe = new DatapathProbe(
        { control, readiness, logger: log.logger },
        { bridge: "br-int", datapath: datapathOf(type), quietMs },
    );
    return { control, readiness, log, probe };
}

const opening = (type: string, words: string) => refusal(`ovs-vswitchd: opening datapath ${type} failed (${words})`);

describe("the probe of the datapath", () => {
    it("passes when the bridge is on it and it has all", async () => {
        const { control, readiness, probe } = probeOf("system");
        control.answers = {
            "dpif/dump-dps": "netdev@br-phy\nsystem@br-int\n",
            "dpif/show-dp-features br-int": featuresOf(),
        };
        await probe.check();
        expect(readiness.missing()).toBeUndefined();
    });

    it("of the userspace datapath waits for its setting, and reports which OVS refuses", async () => {
        const { control, readiness, probe } = probeOf("netdev");
        control.answers = {
            "dpif/dump-dps": "netdev@br-int\n",
            "dpif/show-dp-features br-int": featuresOf(),
            [setting]: refusal("is not a valid command"),
        };
        await expect(probe.check()).rejects.toMatchObject({ code: "REFUSED" });
        expect(readiness.missing()).toContain("is not a valid command");
        control.answers = { ...control.answers, [setting]: "" };
        await probe.check();
        expect(readiness.missing()).toBeUndefined();
    });

    it.each<[DatapathType, string]>([
        ["system", "the kernel's module openvswitch is too old: use a newer kernel, or set ovs.datapathType=netdev"],
        ["netdev", "this Open vSwitch is too old: use a newer one"],
    ])("names the features that %s lacks", async (type, remedy) => {
        const { control, readiness, probe } = probeOf(type);
        control.answers = {
            "dpif/dump-dps": `${type}@br-int\n`,
            "dpif/show-dp-features br-int": featuresOf(["CT label", "CT state NAT"]),
        };
        await expect(probe.check()).rejects.toMatchObject({
            code: "FEATURE_MISSING",
            fault: "environment",
            message: expect.stringMatching(
                /^the \w+ datapath \(\w+\) of bridge br-int on kernel \S+ lacks: CT label, CT state NAT; /,
            ),
            details: { missing: ["CT label", "CT state NAT"], datapathType: type },
        });
        expect(readiness.missing()).toContain(remedy);
    });

    it.each<[string, DatapathType, string, string | Error, string, RegExp]>([
        [
            "the kernel module is missing",
            "system",
            "",
            opening("system@ovs-system", "No such file or directory"),
            "MODULE_MISSING",
            /kernel \S+ had no module openvswitch loaded when OVS started; .*modprobe openvswitch.*restart.*netdev$/,
        ],
        [
            "it is missing and the bridge still stands on the other datapath",
            "system",
            "netdev@br-int\n",
            opening("system@ovs-system", "No such file or directory"),
            "MODULE_MISSING",
            /modprobe/,
        ],
        [
            "OVS was built or started without the type",
            "system",
            "",
            opening("system@ovs-system", "Address family not supported by protocol"),
            "TYPE_MISSING",
            /this Open vSwitch has no datapath type system; set ovs\.datapathType/,
        ],
        [
            "the kernel refuses",
            "system",
            "",
            opening("system@ovs-system", "Operation not permitted"),
            "NOT_PERMITTED",
            /failed \(Operation not permitted\); container antrea-ovs needs the capability NET_ADMIN/,
        ],
        [
            "OVS is not that far",
            "system",
            "",
            opening("system@ovs-system", "No such device"),
            "BRIDGE_NOT_MADE",
            /has not made bridge br-int on the kernel datapath \(system\) yet \(.*No such device\)\); see the log/,
        ],
        [
            "a file is missing in userspace",
            "netdev",
            "netdev@br-phy\n",
            opening("netdev@ovs-netdev", "No such file or directory"),
            "BRIDGE_NOT_MADE",
            /No such file or directory/,
        ],
        [
            "other bridges are on it",
            "netdev",
            "netdev@br-int2\nnetdev@xbr-int\n",
            "netdev@ovs-netdev:\n  flows: 0\n",
            "BRIDGE_NOT_MADE",
            /^OVS has not made bridge br-int on the userspace datapath \(netdev\) yet; see the log of container antrea-ovs$/,
        ],
    ])("reports why there is no bridge: %s", async (_, type, bridges, show, code, words) => {
        const { control, readiness, probe } = probeOf(type);
        control.answers = { "dpif/dump-dps": bridges, [`dpctl/show ${type}@ovs-${type}`]: show };
        await expect(probe.check()).rejects.toMatchObject({ code, message: expect.stringMatching(words) });
        expect(readiness.missing()).toMatch(words);
    });

    it("waits, reports each reason once, and goes on when all is well", async () => {
        const { control, readiness, log, probe } = probeOf("system");
        const absent = new UnixctlError("NOT_RUNNING", "environment", "ovs-vswitchd is not running");
        control.answers = { "dpif/dump-dps": absent };
        const passed = probe.passed(new AbortController().signal);
        await until(() => log.records.length === 1 && readiness.missing() === "ovs-vswitchd is not running");
        control.answers = {
            "dpif/dump-dps": "",
            "dpctl/show system@ovs-system": opening("system@ovs-system", "No such file or directory"),
        };
        await until(() => log.records.length === 2 && readiness.missing()?.includes("modprobe") === true);
        control.answers = { "dpif/dump-dps": "system@br-int\n", "dpif/show-dp-features br-int": featuresOf() };
        await passed;
        expect(readiness.missing()).toBeUndefined();
        expect(log.messages()).toEqual(["waiting for the datapath of OVS", "waiting for the datapath of OVS"]);
    });

    it("logs nothing of what is over in a moment", async () => {
        const { control, readiness, log, probe } = probeOf("netdev", 60_000);
        control.answers = {
            "dpif/dump-dps": "",
            "dpctl/show netdev@ovs-netdev": opening("netdev@ovs-netdev", "No such device"),
        };
        const passed = probe.passed(new AbortController().signal);
        await until(() => readiness.missing()?.includes("has not made bridge") === true);
        control.answers = { "dpif/dump-dps": "netdev@br-int\n", "dpif/show-dp-features br-int": featuresOf() };
        await passed;
        expect(log.records).toEqual([]);
    });

    it("a later probe that fails takes the readiness back", async () => {
        const { control, readiness, probe } = probeOf("netdev");
        control.answers = { "dpif/dump-dps": "netdev@br-int\n", "dpif/show-dp-features br-int": featuresOf() };
        await probe.check();
        control.answers = { "dpif/dump-dps": new UnixctlError("TIMEOUT", "timeout", "no answer within 5000 ms") };
        await expect(probe.check()).rejects.toMatchObject({ code: "TIMEOUT" });
        expect(readiness.missing()).toBe("no answer within 5000 ms");
    });

    it("that is cancelled ends at once and blames nobody", async () => {
        const { control, readiness, log, probe } = probeOf("netdev");
        control.answers = { "dpif/dump-dps": new UnixctlError("NOT_RUNNING", "environment", "not running") };
        const stop = new AbortController();
        const passed = probe.passed(stop.signal);
        await until(() => log.records.length === 1);
        const before = readiness.missing();
        stop.abort();
        await expect(passed).rejects.toBeDefined();
        expect(readiness.missing()).toBe(before);
        expect(log.records).toHaveLength(1);
    });

    it("does not wait out a defect", async () => {
        const { control, probe } = probeOf("netdev");
        control.answers = { "dpif/dump-dps": new TypeError("defect") };
        await expect(probe.passed(new AbortController().signal)).rejects.toThrow("defect");
    });
});

async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1));
}
