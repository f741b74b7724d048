import { expect, it } from "@jest/globals";
import {
    commonEffect,
    effectOfExpressions,
    effectOfLine,
    type Effect,
} from "../../../../src/features/host-filter/firewall/effects.ts";

const counter = { counter: { packets: 0, bytes: 0 } };
const comment = { xt: { type: "match", name: "comment" } };
const drop = { drop: null };
const byPort = { match: { op: "==", left: { payload: { protocol: "tcp", field: "dport" } }, right: 22 } };
const limit = { limit: { rate: 5, burst: 5, per: "second" } };
const calls = (isGoto: boolean): Effect => ({ kind: "calls", chain: "sub", isGoto });

it.each<[string, readonly unknown[], Effect | Effect["kind"]]>([
    ["drop", [counter, drop], "drops"],
    ["drop with a comment of iptables", [comment, counter, drop], "drops"],
    ["log and drop", [{ log: null }, drop], "drops"],
    ["reject", [{ reject: { type: "icmp", expr: "port-unreachable" } }], "drops"],
    ["reject of iptables", [counter, { xt: { type: "target", name: "REJECT" } }], "drops"],
    ["accept", [{ accept: null }], "ends"],
    ["return", [counter, { return: null }], "ends"],
    ["queue", [{ queue: { num: 0 } }], "ends"],
    ["queue of iptables", [{ xt: { type: "target", name: "NFQUEUE" } }], "ends"],
    ["jump", [counter, { jump: { target: "sub" } }], calls(false)],
    ["goto", [counter, { goto: { target: "sub" } }], calls(true)],
    ["jump to nowhere", [{ jump: {} }], "other"],
    ["log", [{ log: null }], "logs"],
    ["log of what matches", [byPort, limit, { log: { prefix: "x" } }], "logs"],
    ["log of iptables", [limit, counter, { xt: { type: "target", name: "LOG" } }], "logs"],
    ["log after a map to verdicts", [{ vmap: {} }, { log: null }], "other"],
    ["match", [byPort, drop], "other"],
    ["limit", [limit, drop], "other"],
    ["named limit", [{ limit: "slow" }, drop], "other"],
    ["limit of connections", [{ "ct count": { val: 5 } }, drop], "other"],
    ["map to verdicts", [{ vmap: { key: {}, data: {} } }], "other"],
    ["extension of iptables", [{ xt: { type: "match", name: "string" } }, counter, drop], "other"],
    ["target that changes the packet", [{ xt: { type: "target", name: "MARK" } }], "other"],
    ["extension without a name", [{ xt: { type: "target" } }], "other"],
    ["extension of a new kind", [{ xt: { type: "watcher", name: "DROP" } }], "other"],
    ["mangle", [{ mangle: { key: {}, value: 5 } }, drop], "other"],
    ["what is not known yet", [{ newer: {} }, drop], "other"],
    ["what has two keys", [{ counter: null, match: {} }, drop], "other"],
    ["what is no object", ["notrack", drop], "other"],
    ["null", [null, drop], "other"],
    ["a counter alone", [counter], "other"],
    ["nothing", [], "other"],
])("nft(8): %s", (_, expressions, effect) => {
    expect(effectOfExpressions(expressions)).toEqual(typeof effect === "string" ? { kind: effect } : effect);
});

it.each<[string, Effect | Effect["kind"]]>([
    ["-A FORWARD -j DROP", "drops"],
    ['-A FORWARD -m comment --comment "-j ACCEPT" -j REJECT --reject-with icmp-port-unreachable', "drops"],
    ["-A FORWARD -j ACCEPT", "ends"],
    ["-A FORWARD -j RETURN", "ends"],
    ["-A FORWARD -p tcp -j DROP", "other"],
    ["-A FORWARD", "other"],
    ["-A FORWARD -m limit --limit 3/min -j LOG", "logs"],
    ["-A FORWARD -j sub", calls(false)],
    ["-A FORWARD -g sub", calls(true)],
    ["-A FORWARD -p tcp -g sub", "other"],
])("iptables(8): %s", (line, effect) => {
    expect(effectOfLine(line)).toEqual(typeof effect === "string" ? { kind: effect } : effect);
});

it("a rule does what both views say, and something else where they differ", () => {
    const other: Effect = { kind: "other" };
    expect(commonEffect({ kind: "drops" }, { kind: "drops" })).toEqual({ kind: "drops" });
    expect(commonEffect({ kind: "drops" }, other)).toEqual(other);
    expect(commonEffect({ kind: "drops" }, undefined)).toEqual(other);
    expect(commonEffect(other, { kind: "drops" })).toEqual(other);
    expect(commonEffect(calls(false), calls(false))).toEqual(calls(false));
    expect(commonEffect(calls(false), calls(true))).toEqual(other);
    expect(commonEffect(calls(false), { ...calls(false), chain: "another" } as Effect)).toEqual(other);
    expect(commonEffect(calls(false), { kind: "drops" })).toEqual(other);
});
