import { daemons, type Daemon } from "../programs.ts";
import { type Calls } from "./calls.ts";
import { grantsOf, type RbacManifest } from "./grants.ts";
import { modes, sends, type Mode } from "./modes.ts";

/** One row of the table of permissions in docs/security.md, without its reason. */
export interface Row {
    readonly account: string;
    /** For example `pods`, `leases.coordination.k8s.io/antrea-controller`. */
    readonly what: string;
    readonly verbs: string;
    readonly when: string;
}

const order = ["get", "list", "watch", "create", "update", "patch", "delete"];

/** The condition, by the modes in which a permission is used. */
const conditions: readonly (readonly [text: string, holds: (mode: Mode) => boolean])[] = [
    ["always", () => true],
    ["IPPools", ({ ipam }) => ipam],
    ["no IPPools", ({ ipam }) => !ipam],
    ["networks", ({ networks }) => networks],
    ["IPPools or networks", ({ ipam, networks }) => ipam || networks],
    ["IPPools, networks or proxyAll", (mode) => mode.ipam || mode.networks || mode.proxyAll],
    ["AntreaProxy", ({ services }) => services],
    ["NodeIPAM", ({ nodeIpam }) => nodeIpam],
    ["IPPools or NodeIPAM", ({ ipam, nodeIpam }) => ipam || nodeIpam],
];

/** All rows, by account and resource: what the chart grants, and in which modes the sources use it. */
export function rowsOf(manifests: readonly RbacManifest[], calls: ReadonlyMap<Daemon, Calls>): readonly Row[] {
    const granted = new Map<string, ReadonlySet<Mode>>();
    for (const daemon of daemons) {
        for (const { verb, group, resource, names } of grantsOf(daemon, manifests)) {
            const kind = group === "" ? resource : `${resource}.${group}`;
            const what = names === undefined ? kind : `${kind}/${names.join(",")}`;
            const own = (calls.get(daemon)?.calls ?? []).filter(
                (call) => call.verb === verb && call.group === group && call.resource === resource,
            );
            const used = modes.filter((mode) => own.some((call) => sends(daemon, call, mode)));
            granted.set(JSON.stringify([`antrea-${daemon}`, what, verb]), new Set(used));
        }
    }
    const rows = new Map<string, { readonly row: Omit<Row, "verbs">; readonly verbs: string[] }>();
    for (const [key, used] of granted) {
        const [account = "", what = "", verb = ""] = JSON.parse(key) as string[];
        const fits = ([, holds]: (typeof conditions)[number]): boolean =>
            modes.every((mode) => holds(mode) === used.has(mode));
        const row = { account, what, when: conditions.find(fits)?.[0] ?? "sometimes" };
        const entry = rows.get(JSON.stringify(row)) ?? { row, verbs: [] };
        entry.verbs.push(verb);
        rows.set(JSON.stringify(row), entry);
    }
    const byOrder = (a: string, b: string): number => order.indexOf(a) - order.indexOf(b);
    return [...rows.values()]
        .map(({ row, verbs }) => ({ ...row, verbs: verbs.sort(byOrder).join(", ") }))
        .sort((a, b) =>
            JSON.stringify([a.account, a.what, a.when]) < JSON.stringify([b.account, b.what, b.when]) ? -1 : 1,
        );
}
