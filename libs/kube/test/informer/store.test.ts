import { beforeEach, describe, expect, it } from "@jest/globals";
import { MemoryLog } from "@antrea/runtime/testing";
import { type KubeObject } from "../../src/api/types.ts";
import { Store, type ChangeSource } from "../../src/informer/store.ts";

const watch: ChangeSource = { by: "watch", after: 7 };
const object = (name: string, uid: string, resourceVersion: string): KubeObject => {
    return { metadata: { name, uid, resourceVersion } };
};

let log: MemoryLog;
let store: Store<KubeObject>;
let changes: string[];

function listen(): Disposable {
    return store.listen((type, key, one, old, { by, after }) => {
        changes.push(
            [type, key, one.metadata?.resourceVersion, old?.metadata?.resourceVersion ?? "-", by, after].join(" "),
        );
    });
}

beforeEach(() => {
    [log, changes] = [new MemoryLog(), []];
    store = new Store({ logger: log.logger });
    listen();
});

describe("the objects of an informer", () => {
    it("are reported once for each state, whichever way and however often that comes", () => {
        store.set(object("a", "u", "1"), watch);
        store.set(object("a", "u", "1"), { by: "list", after: 9 });
        store.set(object("a", "u", "2"), watch);
        store.remove("a", watch, object("a", "u", "3"));
        store.remove("a", watch);
        expect(changes).toEqual(["added a 1 - watch 7", "updated a 2 1 watch 7", "deleted a 3 2 watch 7"]);
    });

    it("of one name are two when their UIDs differ, also if their versions do not", () => {
        store.set(object("a", "u", "1"), watch);
        store.set(object("a", "v", "1"), watch);
        expect(changes.slice(1)).toEqual(["deleted a 1 1 watch 7", "added a 1 - watch 7"]);
        expect(store.objects.get("a")?.metadata?.uid).toBe("v");
    });

    it("are those of a list, of which deletions are reported first", () => {
        store.set(object("a", "u", "1"), watch);
        store.set(object("b", "u", "2"), watch);
        changes = [];
        store.replace([object("c", "u", "3"), object("b", "u", "2")], { by: "list", after: 9 });
        expect(changes).toEqual(["deleted a 1 1 list 9", "added c 3 - list 9"]);
        expect([...store.objects.keys()]).toEqual(["b", "c"]);
    });

    it("are reported at once to who comes later, and no more to who left", () => {
        store.set(object("a", "u", "1"), watch);
        changes = [];
        const late = listen();
        expect(changes).toEqual(["added a 1 - list -Infinity"]);
        late[Symbol.dispose]();
        store.set(object("a", "u", "2"), watch);
        expect(changes).toHaveLength(2);
    });

    it("are reported to the others when a listener fails, which is logged with what it was given", () => {
        store.listen(() => {
            throw new Error("made up");
        });
        const last = listen();
        store.set(object("a", "u", "1"), watch);
        expect(changes).toHaveLength(2);
        expect(log.records).toEqual([expect.objectContaining({ level: "error", type: "added", key: "a" })]);
        last[Symbol.dispose]();
    });
});
