import { ipPools } from "@antrea/crd";
import { refusalText } from "@antrea/ipam";
import { Command } from "commander";
import { stringify } from "yaml";
import { CliError } from "../errors.ts";
import { addFileOptions, type FileOptions } from "../input-files.ts";
import { count, oneLine, someOf } from "../output/index.ts";
import { type CommandContext } from "../program/index.ts";
import { convert } from "./convert.ts";

/**
 * Makes the command `antctl ipam convert -f FILE`, which prints converted manifests and sends no request. Its action
 * throws CliError `BAD_INPUT` if there is no pool or one cannot be converted; then no manifest is printed.
 */
export function convertCommand(context: CommandContext): Command {
    const command = addFileOptions(new Command("convert"))
        .summary("write IPPools of Antrea in Go as this version serves them")
        .description(
            `Reads IPPools of crd.antrea.io/v1beta1, with spec.subnetInfo, or of v1alpha2, and writes manifests of ` +
                `crd.antrea.io/${ipPools.version} for kubectl apply: first the addresses that pools keep for StatefulSets, ` +
                "then the pools. Asks no cluster. Writes nothing when a pool would be refused.",
        )
        .action(({ filename, recursive = false }: FileOptions) => {
            const sources = filename.flatMap((path) => context.readSources(path, recursive));
            const { pools, reservations, refused, warnings, ignored } = convert(sources);
            for (const warning of warnings) context.note(oneLine(`warning: ${warning}`));
            if (ignored.length > 0) context.note(oneLine(`left out, as it is no IPPool: ${someOf(ignored)}`));
            for (const { name, refusals } of refused) {
                for (const refusal of refusals) context.note(oneLine(`IPPool ${name}: ${refusalText(refusal)}`));
            }
            if (refused.length > 0) {
                const what = `${count(refused.length, "IPPool")} cannot be converted, so nothing is written`;
                throw new CliError("BAD_INPUT", "caller", what, "correct what is named above in the file");
            }
            if (pools.length === 0) {
                const names = sources.map(({ name }) => name).join(", ");
                const next = "save the pools first: kubectl get ippools.crd.antrea.io -o yaml > pools.yaml";
                throw new CliError("BAD_INPUT", "caller", `${names}: no IPPool is in it`, next);
            }
            const items = [...reservations, ...pools];
            context.print(command, { apiVersion: "v1", kind: "List", items }, () =>
                items
                    .map((item) => stringify(item, { lineWidth: 0 }))
                    .join("---\n")
                    .trimEnd(),
            );
        });
    return command;
}
