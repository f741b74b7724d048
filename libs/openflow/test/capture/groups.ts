/**
 * Records the fixtures of groups, meters and flushes from Debian's Open vSwitch: run
 * `node libs/openflow/test/capture/groups.ts` as root. Writes ../fixtures/group-mods.json (each line of groups.txt with
 * the message that ovs-ofctl makes of it) and ../fixtures/group-messages.json (other messages, of ovs-ofctl and of the
 * switch).
 */
import { readFile, writeFile } from "node:fs/promises";
import { PrivateOvs } from "../../src/testing/private-ovs.ts";
import { capture, type Captured } from "./proxy.ts";

const here = import.meta.dirname;
const bridge = PrivateOvs.deviceName("cap");
await using ovs = await PrivateOvs.start({ network: "own" });
await ovs.addBridge(bridge);
await ovs.addPort(bridge, PrivateOvs.deviceName("cap"), { ofport: 1 });

const Type = { ERROR: 1, EXPERIMENTER: 4, GROUP_MOD: 15, MULTIPART_REQUEST: 18, MULTIPART_REPLY: 19, METER_MOD: 29 };
const bundle = [33, 34];
const typeOf = ({ hex }: Captured): number => Number.parseInt(hex.slice(2, 4), 16);

const lines = (await readFile(`${here}/groups.txt`, "utf8")).split("\n").filter((line) => line !== "");
const mods: { group: string; hex: string }[] = [];
for (const line of lines) {
    await writeFile(`${ovs.runDir}/one.txt`, line);
    const sent = await capture(ovs, bridge, ["add-groups", "SWITCH", `${ovs.runDir}/one.txt`], {
        swallow: [Type.GROUP_MOD],
    });
    const made = sent.filter((message) => typeOf(message) === Type.GROUP_MOD);
    if (made.length !== 1) throw new Error(`${line}: ${made.length} messages`);
    mods.push({ group: line, hex: made[0]?.hex ?? "" });
}
await save("group-mods", mods);

const messages: { name: string; from: string; hex: string }[] = [];
async function keep(name: string, args: readonly string[], types: readonly number[]): Promise<void> {
    for (const message of await capture(ovs, bridge, args)) {
        // ovs-ofctl asks for the ports and tables first, to print their names.
        const names = /^06(12|13).{12}(000c|000d)/.test(message.hex);
        if (types.includes(typeOf(message)) && !names) messages.push({ name, ...message });
    }
}

for (const [name, meter] of [
    ["meter-pktps", "meter=1,pktps,burst,stats,band=type=drop,rate=1000,burst_size=200"],
    ["meter-kbps", "meter=4294901760,kbps,band=type=drop,rate=1"],
] as const) {
    await keep(name, ["add-meter", "SWITCH", meter], [Type.METER_MOD, Type.ERROR]);
}
await ovs.ofctl("del-meters", bridge);
await keep(
    "meter-add",
    ["add-meter", "SWITCH", "meter=7,pktps,burst,band=type=drop,rate=1000,burst_size=200"],
    [Type.METER_MOD],
);
await keep("meter-again", ["add-meter", "SWITCH", "meter=7,pktps,band=type=drop,rate=1"], [Type.METER_MOD, Type.ERROR]);
await keep("meter-modify", ["mod-meter", "SWITCH", "meter=7,pktps,band=type=drop,rate=500"], [Type.METER_MOD]);
await keep("meters", ["dump-meters", "SWITCH"], [Type.MULTIPART_REQUEST, Type.MULTIPART_REPLY]);
await keep("meter-delete", ["del-meter", "SWITCH", "meter=7"], [Type.METER_MOD]);
await keep("meter-delete-all", ["del-meters", "SWITCH"], [Type.METER_MOD]);

await ovs.ofctl("add-meter", bridge, "meter=7,pktps,band=type=drop,rate=1000");
await ovs.ofctl("add-meter", bridge, "meter=9,pktps,band=type=drop,rate=1000");
for (const id of [9, 2, 3]) await ovs.ofctl("add-group", bridge, `group_id=${id},type=all`);
await ovs.ofctl("--may-create", "mod-group", bridge, (lines[0] ?? "").replace("add ", ""));
for (const line of [1, 5, 6, 7]) await ovs.ofctl("add-group", bridge, (lines[line] ?? "").replace("add ", ""));
await keep("groups", ["dump-groups", "SWITCH"], [Type.MULTIPART_REQUEST, Type.MULTIPART_REPLY]);
await keep("one-group", ["dump-groups", "SWITCH", "1048577"], [Type.MULTIPART_REQUEST, Type.MULTIPART_REPLY]);
await keep("group-stats", ["dump-group-stats", "SWITCH"], [Type.MULTIPART_REQUEST, Type.MULTIPART_REPLY]);
await keep("group-again", ["add-group", "SWITCH", "group_id=1,type=all"], [Type.GROUP_MOD, Type.ERROR]);

await writeFile(
    `${ovs.runDir}/bundle.txt`,
    "group add group_id=77,type=select,bucket=bucket_id=1,weight=5,actions=output:1\nflow add table=3,priority=7,actions=group:77\n",
);
await keep("bundle", ["bundle", "SWITCH", `${ovs.runDir}/bundle.txt`], bundle);

for (const [name, ...args] of [
    ["flush-all"],
    ["flush-zone", "zone=65520"],
    ["flush-four", "zone=65520", "ct_nw_dst=10.96.0.1,ct_nw_proto=17,ct_tp_dst=53"],
    ["flush-reply", "zone=7", "", "ct_nw_src=10.10.0.5,ct_nw_proto=17,ct_tp_src=5353"],
    [
        "flush-six",
        "zone=65510",
        "ct_ipv6_src=fd00::9,ct_ipv6_dst=fd00:96::1,ct_nw_proto=6,ct_tp_src=1000,ct_tp_dst=443",
        "ct_ipv6_src=fd00:10::5,ct_nw_proto=6",
    ],
    ["flush-icmp", "zone=1", "ct_nw_src=10.0.0.1,ct_nw_proto=1,icmp_type=8,icmp_code=0,icmp_id=10"],
    ["flush-protocol", "zone=3", "ct_nw_proto=132"],
] as const) {
    await keep(name, ["ct-flush", "SWITCH", ...args], [Type.EXPERIMENTER, Type.ERROR]);
}
await save("group-messages", messages);

async function save(name: string, value: unknown): Promise<void> {
    await writeFile(`${here}/../fixtures/${name}.json`, `${JSON.stringify(value, undefined, 4)}\n`);
}
