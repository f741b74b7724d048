import { runMain } from "@antrea/runtime";
import { compose } from "./compose.ts";
import { version } from "./platform/version.ts";

await runMain({ name: "antrea-controller", version, compose });
