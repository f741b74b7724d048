import { describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/runtime/testing";
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
});
