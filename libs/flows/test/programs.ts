// Programs for `Namespace.start`.

/**
 * Answers each line with the client's address and the line's length, and ends the connection after "bye"; sends each line
 * of its standard input to every client.
 */
export const server = `
    const net = require("node:net"), readline = require("node:readline"), sockets = new Set();
    net.createServer((socket) => {
        sockets.add(socket);
        const from = socket.remoteAddress.replace("::ffff:", "");
        readline.createInterface(socket).on("line", (line) => {
            socket[line === "bye" ? "end" : "write"](from + " " + line.length + "\\n");
        });
        socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }).listen(8080, "::", () => console.log("listening"));
    readline.createInterface(process.stdin).on("line", (line) => {
        for (const socket of sockets) socket.write(line + "\\n");
        console.log("sent");
    });`;

/** Sends each line of its standard input and prints the answer. */
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

/**
 * Per local port one connection after the other, each ended by its server, whose side keeps its ports in TIME_WAIT: each
 * pair of host and port that it is given. Prints what came of the last connection of each local port.
 */
export const reuse = `
    const net = require("node:net"), pairs = process.argv.slice(1);
    const ask = (host, port, localPort) => new Promise((resolve) => {
        let heard = "";
        const socket = net.connect({ host, port, localPort }, () => socket.write("bye\\n"));
        socket.setTimeout(8000, () => socket.destroy(new Error("no answer")));
        socket.on("data", (data) => heard += data).on("error", (error) => heard = error.message);
        socket.on("close", () => resolve(heard.trim()));
    });
    const ports = Array.from({ length: 16 }, (_, index) => 20000 + index);
    Promise.all(ports.map(async (local) => {
        let last;
        for (let at = 0; at < pairs.length; at += 2) last = await ask(pairs[at], pairs[at + 1], local);
        return last;
    })).then((heard) => console.log([...new Set(heard)].join("; ")));`;
