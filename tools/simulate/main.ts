import { main } from "./command.ts";

process.exit(await main(process.argv.slice(2)));
