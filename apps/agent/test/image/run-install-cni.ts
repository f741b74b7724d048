import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const script = new URL("../../image/install-cni", import.meta.url).pathname;

/** install-cni on a Node and a kernel of files, with a modprobe that only remembers; it fails unless set otherwise. */
export class InstallCni implements Disposable {
    readonly #folder = mkdtempSync(join(tmpdir(), "install-cni-"));
    /** The Node's folder of CNI binaries. */
    readonly target = join(this.#folder, "node");

    constructor() {
        mkdirSync(this.target);
        for (const name of ["antrea", "portmap"]) this.make(`usr/local/lib/antrea/cni-bin/${name}`, `new ${name}`);
        this.modprobe(1);
    }

    /** A file of the image or of the kernel. */
    make(path: string, text: string, mode = 0o644): void {
        const whole = join(this.#folder, path);
        mkdirSync(dirname(whole), { recursive: true });
        writeFileSync(whole, text, { mode });
    }

    modprobe(exitCode: number): void {
        this.make("bin/modprobe", `#!/bin/sh\necho "$@" >>${this.#folder}/loaded\nexit ${exitCode}\n`, 0o755);
    }

    get loaded(): readonly string[] {
        const file = join(this.#folder, "loaded");
        return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    }

    /** @param wrapper stands before the command */
    run(
        env: Readonly<Record<string, string>> = {},
        wrapper: readonly string[] = [],
    ): { readonly code: number | null; readonly stdout: string; readonly stderr: string } {
        const [program = "", ...args] = [...wrapper, "/bin/sh", script];
        const { status, stdout, stderr } = spawnSync(program, args, {
            encoding: "utf8",
            env: {
                PATH: `${this.#folder}/bin:/usr/bin:/bin`,
                SYSTEM_ROOT: this.#folder,
                HOST_CNI_BIN: this.target,
                ...env,
            },
        });
        return { code: status, stdout, stderr };
    }

    [Symbol.dispose](): void {
        rmSync(this.#folder, { recursive: true, force: true });
    }
}
