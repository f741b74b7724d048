import "./hooks.ts";

const { main } = await import("./command.ts");
process.exit(await main(process.argv.slice(2)));
