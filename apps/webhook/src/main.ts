import { runMain } from "@antrea/runtime";
import { compose } from "./compose.ts";
import { flags } from "./flags.ts";
import { version } from "./version.ts";

await runMain({ name: "antrea-webhook", version, flags, compose });
