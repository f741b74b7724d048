import { runMain } from "@antrea/runtime";
import { cleanUpCommand } from "./clean-up-command.ts";
import { compose } from "./compose.ts";
import { restoreUplinkCommand } from "./restore-uplink.ts";

declare const ANTREA_VERSION: string | undefined;

const [command, ...args] = process.argv.slice(2);
if (command === "restore-uplink") {
    process.exit(await restoreUplinkCommand(args));
}
if (command === "clean-up") {
    process.exit(await cleanUpCommand(args));
}
await runMain({
    name: "antrea-agent",
    version: typeof ANTREA_VERSION === "string" ? ANTREA_VERSION : "dev",
    compose,
});
