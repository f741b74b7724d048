import { main } from "./command.ts";

// Who reads may have seen enough, as `head` has. The code is that of a program which SIGPIPE ended: nothing was found out.
for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code !== "EPIPE") throw error;
        process.exit(141);
    });
}

process.exit(await main(process.argv.slice(2)));
