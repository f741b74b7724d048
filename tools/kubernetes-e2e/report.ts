// Evaluates Ginkgo's report of the [sig-network] tests. The last line is the total of the tests that ran.
//   report.ts REPORT.json LEFT-OUT.txt [--choice | --part]
// --choice: the report is of a dry run, nothing ran; --part: not all of the selected tests were requested.
// The exit code is 1 if a test failed, or if a test is neither selected nor on the list.
import { disagreements, readLeftOut } from "./left-out.ts";
import { readResults, type Outcome, type TestResult } from "./ginkgo-report.ts";

const [report = "", list = "", mode] = process.argv.slice(2);
const results = readResults(report, "[sig-network]");
const problems = mode === "--part" ? [] : [...disagreements(results, readLeftOut(list))];
const having = (...outcomes: readonly Outcome[]): readonly TestResult[] =>
    results.filter((result) => outcomes.includes(result.outcome));

if (mode === "--choice") {
    const leftOut = having("left out").length;
    console.log(`${results.length - leftOut} tests chosen of ${results.length}, ${leftOut} left out with a reason`);
} else {
    // a selected test that skips itself verifies nothing: it belongs on the list
    problems.push(
        ...having("skipped itself").map(({ name, message }) => `chosen, but skipped itself: ${name}: ${message}`),
    );
    const slowest = [...having("passed")].sort((one, other) => other.seconds - one.seconds).slice(0, 5);
    for (const { name, seconds } of slowest) console.log(`  ${seconds.toFixed(0).padStart(4)} s  ${name}`);
    for (const { name, message } of having("failed")) console.log(`  ✗ ${name}\n      ${message.slice(0, 500)}`);
}
for (const problem of problems) console.log(`  ✗ ${problem}`);
const failed = having("failed").length + problems.length;
if (mode !== "--choice") console.log(`${having("passed").length} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
