import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { formerJobNames } from "../../src/platform/former-job-names.ts";

const folder = new URL("../../src/features/", import.meta.url).pathname;
const sources = globSync("*/**/*.ts", { cwd: folder }).map((file) => ({
    feature: file.split("/")[0] ?? "",
    text: readFileSync(join(folder, file), "utf8"),
}));
const named = (pattern: RegExp): readonly (readonly [feature: string, name: string])[] =>
    sources.flatMap(({ feature, text }) =>
        [...text.matchAll(pattern)].map(([, name = ""]): readonly [string, string] => [feature, name]),
    );

const jobName = /\bjobs\.(?:every|once)\(\s*"([^"]*)"/g;

describe("a feature has one id: its folder", () => {
    const jobs = named(jobName);
    const loggers = named(/\b(?:logger|parent)\.child\(\s*"([^"]*)"/g);

    it("of which some have jobs, and some have loggers", () => {
        expect([jobs.length > 10, loggers.length > 5]).toEqual([true, true]);
    });

    it("of which no earlier name of a job is kept that no job has now", () => {
        const platform = globSync("../platform/**/*.ts", { cwd: folder }).flatMap((file) => [
            ...readFileSync(join(folder, file), "utf8").matchAll(jobName),
        ]);
        const now = new Set([...jobs.map(([, job]) => job), ...platform.map(([, job]) => job)]);
        expect(Object.keys(formerJobNames).filter((job) => !now.has(job))).toEqual([]);
    });

    it.each(jobs)("%s has the job %s", (feature, job) => expect(job.split("/")[0]).toBe(feature));

    it.each(loggers)("%s logs as module %s", (feature, logger) => expect(logger).toBe(feature));
});
