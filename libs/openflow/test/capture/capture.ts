/**
 * Records the fixtures of the codec's tests from Debian's Open vSwitch: run `node libs/openflow/test/capture/capture.ts`
 * as root. Writes ../fixtures/flow-mods.json (each line of flows.txt with the message that ovs-ofctl makes of it) and
 * ../fixtures/messages.json (one of each other message, from ovs-ofctl and from the switch).
 */
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { PrivateOvs } from "../../src/testing/private-ovs.ts";
import { capture, type Captured } from "./proxy.ts";

const here = import.meta.dirname;
const bridge = PrivateOvs.deviceName("cap");
await using ovs = await PrivateOvs.start({ network: "own" });
await ovs.addBridge(bridge);
await ovs.addPort(bridge, PrivateOvs.deviceName("cap"), { ofport: 1 });

const typeOf = (message: Captured): number => Number.parseInt(message.hex.slice(2, 4), 16);

const lines = (await readFile(`${here}/flows.txt`, "utf8")).split("\n").filter((line) => line !== "");
const sent = await capture(ovs, bridge, ["add-flows", "SWITCH", `${here}/flows.txt`], { swallow: [14] });
const flowMods = sent.filter((message) => typeOf(message) === 14).map((message) => message.hex);
if (flowMods.length !== lines.length) throw new Error(`${lines.length} flows made ${flowMods.length} messages`);
await save(
    "flow-mods",
    lines.map((flow, index) => ({ flow, hex: flowMods[index] })),
);

const messages: { name: string; from: string; hex: string }[] = [];
const keep = (name: string, captured: readonly Captured[], skip: readonly number[] = []): void => {
    const known = new Set([...skip, ...(name === "hello" ? [] : [0])]);
    for (const { from, hex } of captured) {
        const message = { from, hex };
        const type = typeOf(message as Captured);
        const tablesOrPorts = (type === 18 || type === 19) && /^(000c|000d)/.test(hex.slice(16)) && name !== "show";
        if (!known.has(type) && !tablesOrPorts) messages.push({ name, from, hex });
    }
};
const frame = "ffffffffffffaabbccddeeff08060001080006040001aabbccddeeff0a0a00010000000000000a0a0002";
keep("hello", (await capture(ovs, bridge, ["probe", "SWITCH"])).slice(0, 2));
keep("probe", await capture(ovs, bridge, ["probe", "SWITCH"]));
keep("show", await capture(ovs, bridge, ["show", "SWITCH"]));
await writeFile(`${ovs.runDir}/three.txt`, lines.slice(0, 3).join("\n"));
keep("bundle", await capture(ovs, bridge, ["--bundle", "add-flows", "SWITCH", `${ovs.runDir}/three.txt`]));
await writeFile(`${ovs.runDir}/bad.txt`, `${lines[0]}\ntable=9,priority=7,actions=group:99\n`);
keep("bad-bundle", await capture(ovs, bridge, ["--bundle", "add-flows", "SWITCH", `${ovs.runDir}/bad.txt`]));
const tests = lines.filter((line) => !/group:|meter|ct_ipv6_src/.test(line)).join("\n");
await writeFile(`${ovs.runDir}/many.txt`, tests);
await ovs.ofctl("add-flows", bridge, `${ovs.runDir}/many.txt`);
keep(
    "dump-filter",
    await capture(ovs, bridge, ["dump-flows", "SWITCH", "table=3,cookie=0x0/0xff,in_port=5,out_port=3"]),
);
keep("dump", await capture(ovs, bridge, ["dump-flows", "SWITCH"]));
keep("aggregate", await capture(ovs, bridge, ["dump-aggregate", "SWITCH", "table=3,cookie=0x0/0xff"]));
keep("delete", await capture(ovs, bridge, ["del-flows", "SWITCH", "table=3,cookie=0x5/0xff,ip"]));
keep(
    "modify-strict",
    await capture(ovs, bridge, ["--strict", "mod-flows", "SWITCH", "table=3,priority=5,ip,actions=NORMAL"]),
);
keep(
    "overlap",
    await capture(ovs, bridge, ["add-flow", "SWITCH", "table=3,check_overlap,reset_counts,actions=NORMAL"]),
);
const out = `in_port=controller,packet=${frame},actions=set_field:1->reg0,resubmit(,0)`;
keep("packet-out", await capture(ovs, bridge, ["packet-out", "SWITCH", out]));
await ovs.ofctl("del-flows", bridge);
const toController = "controller(reason=no_match,max_len=40,userdata=02.07,pause)";
await ovs.ofctl("add-flow", bridge, `table=0,cookie=0x77,actions=set_field:5->reg1,set_field:7->tun_id,resubmit(,1)`);
await ovs.ofctl(
    "add-flow",
    bridge,
    `table=1,cookie=0x78,idle_timeout=1,send_flow_rem,actions=${toController},controller`,
);
const monitored = await capture(ovs, bridge, ["monitor", "SWITCH", "65535", "-P", "nxt_packet_in2"], {
    meanwhile: async () => {
        await sleep(500);
        await ovs.ofctl("packet-out", bridge, `in_port=1,packet=${frame},actions=resubmit(,0)`);
        await ovs.ofctl("packet-out", bridge, `in_port=1,packet=${frame},actions=resubmit(,1)`);
        await ovs.ofctl("del-flows", bridge);
        await ovs.ofctl("mod-port", bridge, "1", "no-flood");
        await sleep(500);
    },
});
keep("monitor", monitored);
await save("messages", messages);

async function save(name: string, value: unknown): Promise<void> {
    await writeFile(`${here}/../fixtures/${name}.json`, `${JSON.stringify(value, undefined, 4)}\n`);
}
