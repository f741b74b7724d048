import { runMain } from "@antrea/runtime";
import { compose, flags } from "./compose.ts";
import { version } from "./version.ts";

await runMain({ name: "antrea-webhook", version, flags, compose });
