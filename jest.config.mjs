// One configuration for every project: tools/run-jest.sh gives the project as rootDir and the tier as TIER.
// Unit tests are test/**/*.test.ts, integration tests (real etcd, kube-apiserver, OVS, kernel) test/**/*.integration.ts.
const suffix = { integration: "integration", e2e: "e2e" }[process.env.TIER] ?? "test";

export default {
    rootDir: process.env.PROJECT_ROOT,
    testEnvironment: "node",
    testMatch: [`<rootDir>/**/*.${suffix}.ts`],
    // of the project only: a checkout may lie in a folder of such a name
    testPathIgnorePatterns: ["<rootDir>/node_modules/", "<rootDir>/dist/"],
    extensionsToTreatAsEsm: [".ts"],
    transform: {
        "\\.ts$": [
            "@swc/jest",
            {
                jsc: { target: "es2024", parser: { syntax: "typescript" } },
                module: { type: "es6" },
                sourceMaps: "inline",
            },
        ],
    },
    transformIgnorePatterns: ["/node_modules/(?!@antrea/)"],
    // Limits against hangs only. Unit tests of many projects start programs, some of them helm a hundred times: on a busy
    // machine a test took a minute. Integration: with the wait for the userspace datapath of the network namespace, of
    // which there is one.
    testTimeout: suffix === "integration" ? 300_000 : 180_000,
    maxWorkers: 2,
    passWithNoTests: true,
    ...(suffix === "e2e"
        ? {
              testSequencer: new URL("e2e/sequencer.mjs", import.meta.url).pathname,
              runner: new URL("e2e/runner.mjs", import.meta.url).pathname,
          }
        : {}),
};
