import { runMain } from "@antrea/runtime";
import { cleanUpCommand } from "./commands/clean-up-command.ts";
import { compose } from "./compose/compose.ts";
import { restoreUplinkCommand } from "./commands/restore-uplink.ts";
import { version } from "./platform/version.ts";

const [command, ...args] = process.argv.slice(2);
if (command === "restore-uplink") {
    process.exit(await restoreUplinkCommand(args));
}
if (command === "clean-up") {
    process.exit(await cleanUpCommand(args));
}
await runMain({
    name: "antrea-agent",
    version,
    compose,
});
