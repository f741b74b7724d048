import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";

/** A Pod or another namespace; undefined: the one of the test, the Node's. */
export type ProgramPlace = { readonly netns: { readonly name: string } } | undefined;

/** Answers each line of a client at port 8080 with this name and the client's address, and the datagrams likewise. */
const server = `
    const net = require("node:net"), dgram = require("node:dgram"), readline = require("node:readline");
    const name = process.argv[1], plain = (address) => address.replace("::ffff:", "");
    const socket = dgram.createSocket("udp6");
    socket.on("message", (text, { address, port }) => socket.send(name + " " + plain(address), port, address));
    socket.on("error", () => {});
    net.createServer((client) => {
        client.on("error", () => {});
        readline.createInterface(client).on("error", () => {}).on("line", () => {
            client.write(name + " " + plain(client.remoteAddress) + "\\n");
        });
    }).listen(8080, "::", () => socket.bind(8080, "::", () => console.log("listening")));`;

/** Connects, and sends each line of its standard input; prints "connected" or why not, and the answers. */
const tcpClient = `
    const net = require("node:net"), readline = require("node:readline"), [host, port] = process.argv.slice(1);
    const socket = net.connect({ host, port }, () => console.log("connected"));
    socket.setTimeout(5000, () => socket.destroy(new Error("no answer")));
    socket.on("error", ({ code, message }) => { console.log(code ?? message); process.exit(1); });
    readline.createInterface(socket).on("error", () => {}).on("line", (line) => console.log(line));
    readline.createInterface(process.stdin).on("line", (line) => socket.write(line + "\\n"));`;

/** Sends a datagram for each line of its standard input, all from one port; prints the answers, or the error that comes back. */
const udpClient = `
    const dgram = require("node:dgram"), readline = require("node:readline"), [host, port] = process.argv.slice(1);
    const socket = dgram.createSocket(host.includes(":") ? "udp6" : "udp4");
    let timer;
    const report = (text) => { clearTimeout(timer); console.log(text); };
    socket.on("message", (text) => report(String(text))).on("error", ({ code }) => report(code));
    socket.connect(Number(port), host, () => console.log("ready"));
    readline.createInterface(process.stdin).on("line", (line) => {
        timer = setTimeout(() => console.log("no answer"), 1000);
        socket.send(line);
    });`;

/** A program in a namespace, which answers each line with a line. */
export class PodProgram implements AsyncDisposable {
    readonly #child: ChildProcess;
    readonly #lines: string[] = [];
    readonly #closed: Promise<unknown>;
    #rest = "";
    #isClosed = false;

    private constructor(place: ProgramPlace, code: string, args: readonly string[]) {
        const within = place === undefined ? [] : ["ip", "netns", "exec", place.netns.name];
        const command = [...within, process.execPath, "-e", code, "--", ...args];
        this.#child = spawn("setpriv", ["--pdeathsig", "KILL", ...command], {
            stdio: ["pipe", "pipe", "inherit"],
        });
        // after its last output, unlike "exit"
        this.#closed = once(this.#child, "close").then(() => (this.#isClosed = true));
        this.#child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
            const parts = (this.#rest + chunk).split("\n");
            this.#rest = parts.pop() ?? "";
            this.#lines.push(...parts);
        });
    }

    /** A program of Node.js; resolves when it has printed its first line. */
    static async start(place: ProgramPlace, code: string, args: readonly string[]): Promise<PodProgram> {
        const program = new PodProgram(place, code, args);
        await program.line();
        return program;
    }

    /** A server for TCP and UDP at port 8080; resolves when it listens. */
    static async serve(place: ProgramPlace, name: string): Promise<PodProgram> {
        return PodProgram.start(place, server, [name]);
    }

    /** A TCP connection; its first line is "connected" or the error. */
    static connect(place: ProgramPlace, host: string, port: number): PodProgram {
        return new PodProgram(place, tcpClient, [host, String(port)]);
    }

    /** A UDP socket with a port of its own; resolves when datagrams can be sent. */
    static async datagrams(place: ProgramPlace, host: string, port: number): Promise<PodProgram> {
        return PodProgram.start(place, udpClient, [host, String(port)]);
    }

    /** Sends a line and resolves with the next one that the program prints. */
    async send(text: string): Promise<string> {
        this.#child.stdin?.write(`${text}\n`);
        return this.line();
    }

    /** The next line; "ended" after the last one. */
    async line(): Promise<string> {
        while (this.#lines.length === 0) {
            if (this.#isClosed) return "ended";
            await Promise.race([once(this.#child.stdout ?? this.#child, "data"), this.#closed]);
        }
        return this.#lines.shift() ?? "";
    }

    async [Symbol.asyncDispose](): Promise<void> {
        this.#child.kill("SIGKILL");
        await this.#closed;
    }
}

/** What a new connection hears: the server's name and the client's address as it sees it, or the error. */
export async function ask(place: ProgramPlace, host: string, port: number): Promise<string> {
    await using program = PodProgram.connect(place, host, port);
    const first = await program.line();
    return first === "connected" ? await program.send("hello") : first;
}
