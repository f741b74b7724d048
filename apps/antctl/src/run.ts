import { CommanderError, type Command } from "commander";
import { complete, printCompletions } from "./completion/index.ts";
import { compose, type Platform } from "./compose.ts";
import { exitCodeOf, exitOk, exitUsage, failureOf } from "./program/index.ts";

/** The command that kubectl calls to complete the arguments of its plugin `antrea`. */
const kubectlCompletion = "kubectl_complete-antrea";
const kubectlPlugin = "kubectl-antrea";
/** The command that the completion scripts call. */
const completeWord = "__complete";

/**
 * Runs one command line and resolves with the exit code of the process; never rejects. An error is written to `platform`
 * as two lines, the problem and the next step. `words` are the arguments after the program's name; after `__complete`
 * they are completed instead.
 *
 * @param calledAs base name of the program file, which may be a link: `kubectl-antrea` is kubectl's plugin,
 *   `kubectl_complete-antrea` completes its arguments, any other name is `antctl`
 */
export async function run(calledAs: string, words: readonly string[], platform: Platform): Promise<number> {
    const name = calledAs === kubectlPlugin ? "kubectl antrea" : "antctl";
    const { program, dynamicWords, exitCode } = compose(name, platform);
    if (calledAs === kubectlCompletion) return answer(program, words);
    if (words[0] === completeWord) return answer(program, words.slice(1));
    try {
        await program.parseAsync(askedForHelp(words), { from: "user" });
        return exitCode();
    } catch (error) {
        if (error instanceof CommanderError) return exitCodeOf(error);
        const failure = failureOf(error);
        platform.writeErr(`error: ${failure.what}\n  next: ${failure.next}\n`);
        return failure.exitCode === exitUsage || exitCode() === exitOk ? failure.exitCode : exitCode();
    }

    async function answer(root: Command, typed: readonly string[]): Promise<number> {
        platform.writeOut(printCompletions(await complete(root, typed, dynamicWords)));
        return exitOk;
    }
}

/** Rewrites `help ipam who` to `ipam who --help`. */
function askedForHelp(words: readonly string[]): readonly string[] {
    return words[0] === "help" ? [...words.slice(1), "--help"] : words;
}
