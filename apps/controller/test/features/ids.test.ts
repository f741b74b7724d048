import { describe, expect, it } from "@jest/globals";
import { namesIn, readSources } from "@antrea/runtime/testing";

const sources = readSources(new URL("../../src/features/", import.meta.url));

describe("a feature of the controller has one id: its folder", () => {
    const loggers = namesIn(sources, /(?:\blogger\.child\(|\bpoolComponents\(platform, )"([^"]*)"/g);
    const queues = namesIn(sources, /\bnew WorkQueue\([^]*?\bname: "([^"]*)"/g);
    const features = namesIn(sources, /\breturn \{\s*name: "([^"]*)"/g);

    it("of which all have loggers and some have queues", () => {
        const folders = new Set(sources.map(({ folder }) => folder));
        expect(new Set(loggers.map(([feature]) => feature))).toEqual(folders);
        expect(new Set(features.map(([feature]) => feature))).toEqual(folders);
        expect(queues.length).toBeGreaterThan(3);
    });

    it.each(features)("%s is called %s", (feature, name) => expect(name).toBe(feature));
    it.each(loggers)("%s logs as module %s", (feature, name) => expect(name).toBe(feature));
    it.each(queues)("%s has the work queue %s", (feature, name) => expect(name).toBe(feature));
});
