import { AntreaError } from "@antrea/errors";
import { parseIp } from "@antrea/ip";
import { endpointText } from "./places.ts";

/** The output of ovs-ofctl cannot be parsed: code `BAD_OUTPUT`, fault `remote`; the message has the line. */
export class OfctlOutputError extends AntreaError<"BAD_OUTPUT"> {}

/** A flow as ovs-ofctl prints it; the match is without the priority, "" for all packets. */
export interface FlowText {
    readonly priority: number;
    readonly match: string;
    readonly actions: string;
}

/**
 * Parses the output of `ovs-ofctl --no-stats dump-flows`; lines that are no flows are left out. Throws OfctlOutputError
 * `BAD_OUTPUT` for a flow without actions.
 */
export function readFlows(output: string): readonly FlowText[] {
    return output
        .split("\n")
        .filter((line) => line.includes("actions=") || /^\s*cookie=/.test(line))
        .map((line) => {
            const [, head = "", actions] = /^(.*?)\s*\bactions=(.*)$/.exec(line.trim()) ?? [];
            if (actions === undefined) {
                throw new OfctlOutputError("BAD_OUTPUT", "remote", `ovs-ofctl printed a flow without actions: ${line}`);
            }
            // "cookie=0x1, table=46, priority=200,tcp,nw_dst=…"
            const terms = (head.split(", ").at(-1) ?? "").split(",");
            const priority = terms.find((term) => term.startsWith("priority="))?.slice("priority=".length);
            const match = terms.filter((term) => !/^(priority|cookie|table)=/.test(term)).join(",");
            // without one it is that of OpenFlow's default
            return { priority: Number(priority ?? 32_768), match, actions };
        });
}

/** The terms of a match by their name: `tcp` has the value "". */
export function termsOf({ match }: Pick<FlowText, "match">): ReadonlyMap<string, string> {
    return new Map(
        match.split(",").map((term) => {
            const [name = "", value = ""] = term.split(/=(.*)/s, 2);
            return [name, value];
        }),
    );
}

/** The endpoints to which actions translate, sorted, as `endpointText` writes them; of a flow or of all buckets of a group. */
export function endpointsIn(actions: string): readonly string[] {
    return [...actions.matchAll(/\bnat\(dst=(?:\[([^\]]+)\]|([0-9.]+)):(\d+)/g)]
        .map(([, six, four, port]) => endpointText(parseIp(six ?? four ?? ""), Number(port)))
        .sort();
}

/** The number of buckets in the output of `ovs-ofctl dump-group-stats` for one group. */
export function bucketsIn(output: string): number {
    return [...output.matchAll(/\bbucket\d+:/g)].length;
}

/** The number of the group that actions use. */
export function groupIn(actions: string): number | undefined {
    const [, number] = /\bgroup:(\d+)/.exec(actions) ?? [];
    return number === undefined ? undefined : Number(number);
}

/** The value that actions write into a register, masked or not; undefined if they write none. */
export function loadedInto(register: string, actions: string): number | undefined {
    const pattern = new RegExp(
        `(?:set_field:(0x[0-9a-f]+|\\d+)(?:/\\S+?)?->${register}(?![0-9])|load:(0x[0-9a-f]+|\\d+)->NXM_NX_${register.toUpperCase()}\\[\\])`,
    );
    const [, field, load] = pattern.exec(actions) ?? [];
    const value = field ?? load;
    return value === undefined ? undefined : Number(value);
}
