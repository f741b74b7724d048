// Evaluates Ginkgo's report of the [sig-network] tests. The last line is the total of the tests that ran.
//   report.ts REPORT.json LEFT-OUT.txt [--choice [REQUESTED.json] | --part]
// --choice: the report is of a dry run, nothing ran; REQUESTED: the report of another one, with the tests that are requested,
// if not all that are chosen; --part: not all of the chosen tests were requested.
// The exit code is 1 if a test failed, if none ran or will run, or if a test is neither chosen nor on the list.
import { disagreements, readLeftOut } from "./left-out.ts";
import { readResults, type Outcome, type TestResult } from "./ginkgo-report.ts";

const [report = "", list = "", mode, requestedReport] = process.argv.slice(2);
const results = readResults(report, "[sig-network]");
const problems = mode === "--part" ? [] : [...disagreements(results, readLeftOut(list))];
const having = (...outcomes: readonly Outcome[]): readonly TestResult[] =>
    results.filter((result) => outcomes.includes(result.outcome));

if (mode === "--choice") {
    const chosen = results.filter(({ outcome }) => outcome !== "left out");
    const requested =
        requestedReport === undefined
            ? chosen
            : readResults(requestedReport, "[sig-network]").filter(({ outcome }) => outcome !== "left out");
    const ofThem = requestedReport === undefined ? "" : `; ${requested.length} of them are requested by their name`;
    const leftOut = results.length - chosen.length;
    console.log(`${chosen.length} tests chosen of ${results.length}, ${leftOut} left out with a reason${ofThem}`);
    if (requested.length === 0) problems.push("no test is requested");
} else {
    if (having("passed", "failed").length === 0) problems.push("no test ran");
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
