import { createRequire } from "node:module";

const { default: Sequencer } = createRequire(import.meta.url)("@jest/test-sequencer");

/** Runs the suites in the order of their names: all share one cluster, and what changes it most comes last. */
export default class ByName extends Sequencer {
    sort(tests) {
        return [...tests].sort((one, other) => (one.path < other.path ? -1 : 1));
    }
}
