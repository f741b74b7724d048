import { Readable } from "node:stream";
import { type Node } from "../../src/api/types.ts";
import { KubeError } from "../../src/errors.ts";
import { type InformerComponents } from "../../src/informer/types.ts";

export function node(name: string, version: string, uid = `uid-${name}`): Node {
    return { metadata: { name, uid, resourceVersion: version } };
}

export function event(type: string, object: unknown): string {
    return `${JSON.stringify({ type, object })}\n`;
}

/** What a watch sends: text and then its end, or nothing and no end, or text and no end, or nothing and then an error. */
type WatchAnswer = string | KubeError | "silent" | { readonly open: string } | { readonly broken: Error };

/** Answers of an API server, in order; the last one of each kind stays. */
export class Script {
    readonly watchedFrom: string[] = [];
    lists = 0;
    readonly #lists: (readonly Node[] | KubeError)[];
    readonly #watches: WatchAnswer[];
    #version = 0;

    constructor(lists: (readonly Node[] | KubeError)[], watches: WatchAnswer[]) {
        this.#lists = lists;
        this.#watches = watches;
    }

    get api(): InformerComponents["api"] {
        return {
            list: ((_resource: unknown, { transform }: { readonly transform: (node: Node) => Node | undefined }) => {
                const answer = this.#lists[Math.min(this.lists, this.#lists.length - 1)] ?? [];
                this.lists += 1;
                this.#version += 100;
                if (answer instanceof KubeError) return Promise.reject(answer);
                const items = answer.map(transform).filter((item) => item !== undefined);
                return Promise.resolve({ items, resourceVersion: String(this.#version) });
            }) as never,
            watch: (_resource, { resourceVersion, signal }) => {
                this.watchedFrom.push(resourceVersion);
                const answer = this.#watches[Math.min(this.watchedFrom.length, this.#watches.length) - 1] ?? "silent";
                if (answer instanceof KubeError) return Promise.reject(answer);
                const stream = new Readable({ read: () => undefined });
                signal.addEventListener("abort", () => stream.destroy(new Error("aborted")));
                if (typeof answer !== "string" && "broken" in answer) setImmediate(() => stream.destroy(answer.broken));
                else if (typeof answer !== "string") stream.push(answer.open);
                else stream.push(answer === "silent" ? "" : answer);
                if (typeof answer === "string" && answer !== "silent") stream.push(null);
                return Promise.resolve(stream as never);
            },
        };
    }
}
