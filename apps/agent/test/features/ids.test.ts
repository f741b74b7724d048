import { describe, expect, it } from "@jest/globals";
import { namesIn, readSources } from "@antrea/runtime/testing";
import { formerJobNames } from "../../src/platform/former-job-names.ts";

const sources = readSources(new URL("../../src/features/", import.meta.url));

const jobName = /\bjobs\.(?:every|once)\(\s*"([^"]*)"/g;

describe("a feature has one id: its folder", () => {
    const folders = new Set(sources.map(({ folder }) => folder));
    // A feature's name has a line of its own, or follows "return"; no other name in these files does.
    const wiring = sources.filter(({ path }) => path === "feature.ts");
    const features = namesIn(wiring, /^ *(?:return \{ )?name: "([a-z-]+)",/gm);
    const jobs = namesIn(sources, jobName);
    const loggers = namesIn(sources, /\b(?:logger|parent)\.child\(\s*"([^"]*)"/g);

    it("of which all have names, some have jobs, and some have loggers", () => {
        expect(new Set(features.map(([feature]) => feature))).toEqual(folders);
        expect([jobs.length > 10, loggers.length > 5]).toEqual([true, true]);
    });

    it("of which no earlier name of a job is kept that no job has now", () => {
        const now = new Set(
            namesIn(readSources(new URL("../../src/", import.meta.url)), jobName).map(([, job]) => job),
        );
        expect(Object.keys(formerJobNames).filter((job) => !now.has(job))).toEqual([]);
    });

    it.each(features)("%s is called %s", (feature, name) => expect(name).toBe(feature));

    it.each(jobs)("%s has the job %s", (feature, job) => expect(job.split("/")[0]).toBe(feature));

    it.each(loggers)("%s logs as module %s", (feature, logger) => expect(logger).toBe(feature));
});
