// Programs for `Namespace.start`.

/** Answers each line with the client's address and the line's length; sends a line that it is told to every client. */
export const server = `
    const net = require("node:net"), readline = require("node:readline"), sockets = new Set();
    net.createServer((socket) => {
        sockets.add(socket);
        const from = socket.remoteAddress.replace("::ffff:", "");
        readline.createInterface(socket).on("line", (line) => socket.write(from + " " + line.length + "\\n"));
        socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }).listen(8080, "::", () => console.log("listening"));
    readline.createInterface(process.stdin).on("line", (line) => {
        for (const socket of sockets) socket.write(line + "\\n");
        console.log("sent");
    });`;

/** Sends each line that it is told and prints the answer. */
export const client = `
    const net = require("node:net"), readline = require("node:readline");
    const [host, port] = process.argv.slice(1);
    const socket = net.connect({ host, port }, () => console.log("connected"));
    socket.setTimeout(15000, () => socket.destroy(new Error("no answer")));
    socket.on("error", (error) => { console.log(error.message); process.exit(1); });
    readline.createInterface(socket).on("line", (line) => console.log(line));
    readline.createInterface(process.stdin).on("line", (line) => {
        socket.write((line.startsWith("x") ? "x".repeat(Number(line.slice(1))) : line) + "\\n");
    });`;
