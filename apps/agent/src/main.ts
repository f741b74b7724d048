import { runMain } from "@antrea/runtime";
import { compose } from "./compose.ts";

declare const ANTREA_VERSION: string | undefined;

await runMain({
    name: "antrea-agent",
    version: typeof ANTREA_VERSION === "string" ? ANTREA_VERSION : "dev",
    compose,
});
