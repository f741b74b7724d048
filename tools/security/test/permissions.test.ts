import { beforeAll, describe, expect, it } from "@jest/globals";
import { render } from "@antrea/chart/testing/render";
import { tableUnder } from "../document-table.ts";
import { callsOf, type Calls } from "../permissions/calls.ts";
import { grantsOf, strangers, type Grant, type RbacManifest } from "../permissions/grants.ts";
import { modes, sends, type Mode } from "../permissions/modes.ts";
import { rowsOf } from "../permissions/table.ts";
import { namelessVerbs, scopes } from "../permissions/scopes.ts";
import { daemons, type Daemon } from "../programs.ts";

let calls: ReadonlyMap<Daemon, Calls> = new Map();
const rendered = new Map<Mode, readonly RbacManifest[]>();

function text({ verb, group, resource }: Pick<Grant, "verb" | "group" | "resource">): string {
    return `${verb} ${group === "" ? resource : `${resource}.${group}`}`;
}

beforeAll(async () => {
    calls = await callsOf(daemons);
    for (const mode of modes) {
        const values = mode.values.flatMap((value) => ["--set", value]);
        rendered.set(mode, (await render(...values)) as readonly RbacManifest[]);
    }
}, 300_000);

describe("the roles of the chart", () => {
    it.each(daemons)("are held against all requests in the sources of antrea-%s", (daemon) => {
        const { calls: found = [], unclear } = calls.get(daemon) ?? {};
        expect(unclear).toEqual([]);
        expect(found.length).toBeGreaterThan(20);
    });

    describe.each(modes.map((mode) => [mode.name, mode] as const))("with %s", (_name, mode) => {
        // whatever of it is switched on: that is done in the ConfigMap as well, which no template sees
        it.each(daemons)("let antrea-%s do what it does in some mode, and nothing else", (daemon) => {
            const sent = (calls.get(daemon)?.calls ?? []).filter((call) =>
                modes.some((one) => sends(daemon, call, one)),
            );
            const granted = grantsOf(daemon, rendered.get(mode) ?? []);
            expect([...new Set(granted.map(text))].sort()).toEqual([...new Set(sent.map(text))].sort());
            expect(granted).toHaveLength(new Set(granted.map(text)).size);
        });

        it.each(daemons)("bind antrea-%s to the objects that are its own", (daemon) => {
            for (const grant of grantsOf(daemon, rendered.get(mode) ?? [])) {
                const scope = scopes.find(({ resource, of = daemon }) => resource === grant.resource && of === daemon);
                const names = namelessVerbs.includes(grant.verb) ? undefined : scope?.names;
                expect([text(grant), grant.own, grant.names]).toEqual([text(grant), scope?.own ?? false, names]);
            }
        });

        it("are bound to nobody else, and no account has a role of somebody else", () => {
            expect(strangers(rendered.get(mode) ?? [])).toEqual([]);
        });
    });

    it("are in docs/security.md, with what uses each right and a reason", () => {
        const rows = tableUnder("Permissions");
        const expected = rowsOf(rendered.get(modes[0]!) ?? [], calls).map(({ account, what, verbs, when }) => [
            account,
            what,
            verbs,
            when,
        ]);
        const byText = (a: readonly string[], b: readonly string[]): number => (a.join() < b.join() ? -1 : 1);
        expect(rows.map((row) => row.slice(0, 4)).sort(byText)).toEqual(expected.sort(byText));
        expect(rows.filter(([, , , , why = ""]) => why.length < 10)).toEqual([]);
    });
});
