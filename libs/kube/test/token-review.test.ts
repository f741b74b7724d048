import { describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { type SubjectAccessReview, type TokenReview } from "../src/api/types.ts";
import { TokenReviewAuthorizer } from "../src/token-review.ts";

describe("TokenReviewAuthorizer", () => {
    function make() {
        const clock = new ManualClock();
        const asked: string[] = [];
        const api = {
            create: (async (resource: { kind: string }, review: TokenReview & SubjectAccessReview) => {
                await Promise.resolve();
                asked.push(resource.kind);
                if (resource.kind === "SubjectAccessReview")
                    return { status: { allowed: review.spec.user === "prometheus" } };
                const user = { "good-token": "prometheus", "other-token": "nobody" }[review.spec.token ?? ""];
                return { status: user === undefined ? {} : { authenticated: true, user: { username: user } } };
            }) as never,
        };
        return { authorizer: new TokenReviewAuthorizer({ api, clock }, { path: "/metrics" }), clock, asked };
    }

    it.each([
        ["a known and allowed bearer", "good-token", true, 2],
        ["a known bearer that may not read the path", "other-token", false, 2],
        ["an unknown token", "bad-token", false, 1],
        ["an empty token", "", false, 0],
        ["a token that is too long", "x".repeat(20_000), false, 0],
    ])("%s", async (_name, token, allowed, questions) => {
        const { authorizer, asked } = make();
        expect(await authorizer.authorize(token)).toBe(allowed);
        expect(asked).toHaveLength(questions);
    });

    it("remembers answers for their time", async () => {
        const { authorizer, clock, asked } = make();
        for (const token of ["good-token", "good-token", "bad-token", "bad-token"]) await authorizer.authorize(token);
        expect(asked).toHaveLength(3);
        await clock.advance(11_000);
        for (const token of ["good-token", "bad-token"]) await authorizer.authorize(token);
        expect(asked).toHaveLength(4);
    });

    it("asks for what the owner of the token may, with all that the API server reported of the owner", async () => {
        const user = { username: "prometheus", uid: "7", groups: ["g"], extra: { scope: ["s"] } };
        for (const known of [user, { username: "prometheus" }, {}]) {
            const asked: unknown[] = [];
            const api = {
                create: ((resource: { kind: string }, { spec }: { spec: unknown }, options: unknown) => {
                    asked.push([resource.kind, spec, options]);
                    return Promise.resolve({ status: { authenticated: true, user: known, allowed: true } });
                }) as never,
            };
            const authorizer = new TokenReviewAuthorizer({ api }, { path: "/metrics", audiences: ["antrea"] });
            expect(await authorizer.authorize("t")).toBe(true);
            const { username = "", ...rest } = known as Partial<typeof user>;
            const attributes = { nonResourceAttributes: { path: "/metrics", verb: "get" } };
            expect(asked).toEqual([
                ["TokenReview", { token: "t", audiences: ["antrea"] }, { timeoutMs: 5_000 }],
                ["SubjectAccessReview", { user: username, groups: [], ...rest, ...attributes }, { timeoutMs: 5_000 }],
            ]);
        }
    });

    it("asks only who the owner is where no path is set, and for no audience of its own", async () => {
        const specs: unknown[] = [];
        const api = {
            create: ((_resource: unknown, { spec }: { spec: unknown }) => {
                specs.push(spec);
                return Promise.resolve({ status: { authenticated: true } });
            }) as never,
        };
        expect(await new TokenReviewAuthorizer({ api }).authorize("t")).toBe(true);
        expect(specs).toEqual([{ token: "t" }]);
        const silent = { create: (() => Promise.resolve({})) as never };
        expect(await new TokenReviewAuthorizer({ api: silent }).authorize("t")).toBe(false);
    });

    it("remembers an answer up to its time and no longer, and a thousand of them", async () => {
        const { authorizer, clock, asked } = make();
        await authorizer.authorize("bad-token");
        await clock.advance(9_999);
        await authorizer.authorize("bad-token");
        expect(asked).toHaveLength(1);
        await clock.advance(1);
        await authorizer.authorize("bad-token");
        expect(asked).toHaveLength(2);
        for (let token = 1; token < 1_000; token += 1) await authorizer.authorize(String(token));
        await authorizer.authorize("bad-token");
        expect(asked).toHaveLength(1_001);
        await authorizer.authorize("one more");
        await authorizer.authorize("1");
        expect(asked).toHaveLength(1_002);
        await authorizer.authorize("bad-token");
        expect(asked).toHaveLength(1_003);
    });

    it("takes a token of 16 KiB and not one that is longer", async () => {
        const { authorizer, asked } = make();
        await authorizer.authorize("x".repeat(16_385));
        expect(asked).toHaveLength(0);
        await authorizer.authorize("x".repeat(16_384));
        expect(asked).toHaveLength(1);
    });
});
