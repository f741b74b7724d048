/**
 * An agent as far as its OVS knows of its end, as a program of its own: its argument is the folder of OVS. Prints
 * "connected" when it has the database, and "ending" at SIGTERM; ends when its standard input is closed.
 */
import { join } from "node:path";
import { createLogger } from "@antrea/runtime";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { announceEnd } from "../../../../src/platform/ovs/end-notice.ts";

const ovsRunDir = process.argv[2] ?? "";
const logger = createLogger({ module: "ending-agent", level: "warn", destination: process.stderr });
const database = new OvsdbSession({ logger }, { socketPath: join(ovsRunDir, "db.sock"), monitor: {} });
const ending = new AbortController();
announceEnd({ config: { ovsRunDir }, database, logger }, ending.signal);
database.onConnect(() => console.log("connected"));
database.start(ending.signal);
process.on("SIGTERM", () => {
    ending.abort();
    console.log("ending");
});
process.stdin.on("end", () => process.exit(0)).resume();
