import { Command, Option } from "commander";
import { count } from "../output/index.ts";
import { RecordReader } from "../ovs-records/index.ts";
import { exitFailed, exitIncomplete, exitOk, readDuration, type CommandContext } from "../program/index.ts";
import { renderCheck } from "./render.ts";
import { checkReport, findingsOf, inBoth } from "./report.ts";
import { takeSnapshot } from "./snapshot.ts";

/**
 * Makes the command `antctl ipam check`, which prints a CheckReport. Exit code exitFailed with findings, exitIncomplete
 * if it could not check everything or failed. Its action rejects with CliError `NOT_SERVED` or KubeError.
 */
export function checkCommand(context: CommandContext): Command {
    const command = new Command("check")
        .summary("compare allocations, Pods and OVS on each Node")
        .description(
            "Compares allocations, Pods and the ports of OVS on each Node, and lists leaks, orphans, duplicates and " +
                "unneeded reservations. Findings are checked again a moment later, so that Pods that " +
                "start or end are no findings. Exit code: 0 nothing is wrong, 1 findings, 2 no findings, but it could " +
                "not check everything.",
        )
        .addOption(
            new Option("--settle <DURATION>", "time between the two checks")
                .argParser(readDuration)
                .default(5_000, "5s"),
        )
        .action(async ({ settle }: { readonly settle: number }) => {
            // A failure from here on means that the check was incomplete.
            context.exitWith(exitIncomplete);
            using session = context.session(command);
            const records = new RecordReader(session);
            let snapshot = await takeSnapshot(session.cluster, records);
            let findings = findingsOf(snapshot);
            if (findings.length > 0) {
                context.note(`checking ${count(findings.length, "finding")} again in ${settle / 1000} s`);
                await context.sleep(settle);
                snapshot = await takeSnapshot(session.cluster, records);
                findings = inBoth(findings, findingsOf(snapshot));
            }
            const complete = snapshot.unread.size === 0;
            context.exitWith(findings.length > 0 ? exitFailed : complete ? exitOk : exitIncomplete);
            context.print(command, checkReport(snapshot, findings), renderCheck);
        });
    return command;
}
