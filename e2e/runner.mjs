import { createRequire } from "node:module";
import { besideEachOther } from "./fixture/beside-each-other.ts";

const { default: TestRunner } = createRequire(import.meta.url)("jest-runner");

/** More would be a test of the machine, which has two cores. */
const atOnce = 4;

/**
 * Suites of one number run beside each other, in Namespaces of their own: they wait most of the time, and none of them
 * minds what another does. Numbers run one after the other.
 */
export default class ByNumber extends TestRunner {
    async runTests(tests, watcher, options) {
        for (const suites of besideEachOther(tests)) {
            this._globalConfig = { ...this._globalConfig, maxWorkers: Math.min(suites.length, atOnce) };
            await super.runTests(suites, watcher, { ...options, serial: suites.length === 1 });
        }
    }
}
