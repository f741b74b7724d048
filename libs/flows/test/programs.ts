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
        readline.createInterface(socket).on("error", () => {}).on("line", (line) => {
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

/** After a line: as many connections at once as given, each of which sends a line; prints the addresses that servers saw. */
export const many = `
    const net = require("node:net"), [host, port, count] = process.argv.slice(1);
    const ask = () => new Promise((resolve) => {
        let heard = "";
        const socket = net.connect({ host, port }, () => socket.write("bye?\\n"));
        socket.setTimeout(8000, () => socket.destroy(new Error("no answer")));
        socket.on("error", (error) => resolve(error.message));
        socket.on("data", (data) => { heard += data; if (heard.endsWith("\\n")) { resolve(heard.split(" ")[0]); socket.destroy(); } });
    });
    console.log("ready");
    process.stdin.once("data", async () =>
        console.log((await Promise.all(Array.from({ length: Number(count) }, ask))).join(";")));`;

/** Connections from one local port to each pair of host and port; after a line all send one, and it prints what they heard. */
export const atOnce = `
    const net = require("node:net"), pairs = process.argv.slice(1);
    const open = (host, port) => new Promise((resolve) => {
        const socket = net.connect({ host, port, localPort: 20500 }, () => resolve(socket));
        socket.setTimeout(8000, () => resolve(undefined));
        socket.on("error", (error) => { console.log(error.message); process.exit(1); });
    });
    (async () => {
        const sockets = [];
        for (let at = 0; at < pairs.length; at += 2) sockets.push(await open(pairs[at], pairs[at + 1]));
        console.log("connected");
        process.stdin.once("data", async () => {
            const heard = await Promise.all(sockets.map((socket) => socket === undefined ? "no connection" : new Promise((resolve) => {
                socket.removeAllListeners("timeout").on("timeout", () => resolve("no answer"));
                socket.once("data", (data) => resolve(String(data).trim()));
                socket.write("data\\n");
            })));
            console.log(heard.join(";"));
        });
    })();`;

/**
 * Answers datagrams ("udp4" or "udp6", and an address if not all) but those of "wait". By its standard input: "count" prints the client and how many datagrams came
 * since the last time, "answer" sends one more answer and prints the error that comes back.
 */
export const udpServer = `
    const dgram = require("node:dgram"), readline = require("node:readline");
    const socket = dgram.createSocket({ type: process.argv[1], ipv6Only: process.argv[1] === "udp6" });
    let from, count = 0, failed = () => {};
    socket.on("message", (text, { address, port }) => {
        from = { address, port };
        count += 1;
        if (String(text) !== "wait") socket.send(text, port, address);
    }).on("error", (error) => failed(error)).bind(8080, process.argv[2], () => console.log("ready"));
    readline.createInterface(process.stdin).on("line", (line) => {
        if (line === "count") {
            console.log((from ? from.address : "nobody") + " " + count);
            count = 0;
            return;
        }
        // only a connected socket hears of errors
        socket.connect(from.port, from.address, () => {
            const end = (text) => { clearTimeout(timer); socket.disconnect(); console.log(text); };
            const timer = setTimeout(() => end("no error"), 5000);
            failed = (error) => end(error.message);
            socket.send("answer");
        });
    });`;

/** Sends the words of each line as datagrams; prints the answers, or the error that comes back. "close" ends the socket. */
export const udpClient = `
    const dgram = require("node:dgram"), readline = require("node:readline"), [host, port] = process.argv.slice(1);
    const socket = dgram.createSocket(host.includes(":") ? "udp6" : "udp4");
    socket.on("message", (text) => console.log(String(text))).on("error", (error) => console.log(error.message));
    socket.connect(Number(port), host, () => console.log("ready"));
    readline.createInterface(process.stdin).on("line", (line) => {
        if (line === "close") socket.close(() => console.log("closed"));
        else if (line.startsWith("wait")) {
            for (const word of line.split(" ")) socket.send(word);
            setTimeout(() => console.log("sent"), 200);
        }
        else socket.send(line.startsWith("x") ? "x".repeat(Number(line.slice(1))) : line);
    });`;
