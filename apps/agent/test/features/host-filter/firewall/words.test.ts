import { expect, it } from "@jest/globals";
import { linesOf, wordsOf } from "../../../../src/features/host-filter/firewall/index.ts";

it("a line ends outside of quotes", () => {
    const text = `-P INPUT ACCEPT\n-A INPUT -m comment --comment "two\n-j \\"lines\n" -j DROP\n\n-A INPUT -j ACCEPT\n`;
    expect(linesOf(text)).toEqual([
        "-P INPUT ACCEPT",
        `-A INPUT -m comment --comment "two\n-j \\"lines\n" -j DROP`,
        "-A INPUT -j ACCEPT",
    ]);
    expect(linesOf("")).toEqual([]);
});

it.each([
    ["-A X -j Y", ["-A", "X", "-j", "Y"]],
    [`--comment "" -j Y`, ["--comment", "", "-j", "Y"]],
    [`--comment "he said \\"x\\\\y\\", it\\'s so" -j Y`, ["--comment", `he said "x\\y", it's so`, "-j", "Y"]],
    [`--log-prefix "x " -m comment --comment "a\nb"`, ["--log-prefix", "x ", "-m", "comment", "--comment", "a\nb"]],
    [`--comment plain\\word`, ["--comment", "plain\\word"]],
])("the words of %s", (line, words) => {
    expect(wordsOf(line)).toEqual(words);
});
