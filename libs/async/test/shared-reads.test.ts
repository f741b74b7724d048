import { describe, expect, it } from "@jest/globals";
import { SharedReads } from "../src/shared-reads.ts";

/** Reads that end when the test ends them. */
class Server {
    readonly asked: { readonly name: string; readonly end: PromiseWithResolvers<string> }[] = [];
    readonly reads = new SharedReads((name) => {
        const end = Promise.withResolvers<string>();
        this.asked.push({ name, end });
        return end.promise;
    });

    end(index: number, text: string): void {
        this.asked[index]?.end.resolve(text);
    }
}

describe("SharedReads", () => {
    it("gives each caller a read that began after its call", async () => {
        const server = new Server();
        const first = server.reads.get("a");
        const [second, third] = [server.reads.get("a"), server.reads.get("a")];
        expect(server.asked).toHaveLength(1);
        server.end(0, "old");
        expect(await first).toBe("old");
        const fourth = server.reads.get("a");
        expect(server.asked).toHaveLength(2);
        server.end(1, "new");
        expect(await Promise.all([second, third])).toEqual(["new", "new"]);
        server.end(2, "newest");
        expect(await fourth).toBe("newest");
        expect(server.asked).toHaveLength(3);
    });

    it("reads each name for itself, and nothing when nobody asks", async () => {
        const server = new Server();
        const both = [server.reads.get("a"), server.reads.get("b")];
        expect(server.asked.map(({ name }) => name)).toEqual(["a", "b"]);
        server.end(1, "B");
        server.end(0, "A");
        expect(await Promise.all(both)).toEqual(["A", "B"]);
        expect(server.asked).toHaveLength(2);
    });

    it("begins the next read also after one that failed, whose failure is its own callers' alone", async () => {
        const server = new Server();
        const first = server.reads.get("a");
        const second = server.reads.get("a");
        server.asked[0]?.end.reject(new TypeError("away"));
        await expect(first).rejects.toThrow("away");
        server.end(1, "back");
        expect(await second).toBe("back");
    });
});
