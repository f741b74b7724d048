import { Argument, Command } from "commander";
import { type CommandContext } from "../program/index.ts";
import { completionScript, shells, type Shell } from "./scripts.ts";

/** Makes the command `antctl completion SHELL`, which writes the script of `completionScript` to standard output. */
export function completionCommand(context: CommandContext): Command {
    const command = new Command("completion")
        .summary("write a completion script for bash, zsh or fish")
        .description(
            "Writes a script that completes commands, flags, and names that the cluster has:\n\n" +
                "  bash   source <(antctl completion bash)        in ~/.bashrc\n" +
                "  zsh    source <(antctl completion zsh)         in ~/.zshrc, after compinit\n" +
                "  fish   antctl completion fish | source         in ~/.config/fish/config.fish\n\n" +
                "kubectl completes `kubectl antrea` by itself where it finds kubectl_complete-antrea, another name of " +
                "antctl, in PATH.",
        )
        .addArgument(new Argument("<SHELL>", "the shell").choices(shells))
        .action((shell: Shell) => context.write(completionScript(shell, "antctl")));
    return command;
}
