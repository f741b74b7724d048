import { isSystemError } from "@antrea/errors";
import { main } from "./command.ts";

// The reader may close the pipe early, as `head` does. The exit code is that of a program ended by SIGPIPE: there is no
// result.
for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: unknown) => {
        if (!isSystemError(error, "EPIPE")) throw error;
        process.exit(141);
    });
}

const code = await main(process.argv.slice(2));
// an exit drops what a slow reader of a pipe has not taken yet
for (const stream of [process.stdout, process.stderr]) await new Promise((taken) => stream.write("", taken));
process.exit(code);
