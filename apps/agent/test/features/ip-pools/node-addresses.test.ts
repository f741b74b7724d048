import { expect, it } from "@jest/globals";
import { formatIp, formatPrefix, parseIp, prefixContains, parsePrefix, type IpRange } from "@antrea/ip";
import { type ChangeListener, type Node } from "@antrea/kube";
import { NodeAddresses } from "../../../src/features/ip-pools/node-addresses.ts";

function node(name: string, address: string, ...podCIDRs: readonly string[]): Node {
    return { metadata: { name }, spec: { podCIDRs }, status: { addresses: [{ type: "InternalIP", address }] } };
}

it("what pools may not hand out because of Nodes: only what lies in a pool, reported when that changes", () => {
    let prefix = parsePrefix("10.2.0.0/16");
    let changes = 0;
    let notify: ChangeListener<Node> = () => undefined;
    let listening = true;
    const nodes = {
        list: () => [node("a", "10.2.0.3", "10.9.0.0/24"), node("b", "192.0.2.1", "10.2.7.0/24")],
        onChange: (listener: ChangeListener<Node>) => {
            notify = listener;
            return { [Symbol.dispose]: () => void (listening = false) };
        },
    };
    const isInPool = ({ family, first }: IpRange): boolean => prefixContains(prefix, { family, value: first });
    const found = new NodeAddresses({ nodes, isInPool, onChange: () => (changes += 1) });
    const texts = (all = false): readonly string[] => {
        const { nodeAddresses, podCidrs } = all ? found.all() : found.inPools();
        return [...nodeAddresses.flat().map(formatIp), ...podCidrs.map(formatPrefix)];
    };
    const put = (one: Node): void =>
        notify("updated", one.metadata?.name ?? "", one, undefined, { by: "watch", after: 0 });
    // While nobody knows what matters, everything may.
    put(node("c", "192.0.2.9"));
    expect(changes).toBe(1);
    expect(texts()).toEqual(["10.2.0.3", "10.2.7.0/24"]);
    expect(texts(true)).toEqual(["10.2.0.3", "192.0.2.1", "192.0.2.9", "10.9.0.0/24", "10.2.7.0/24"]);
    // A heartbeat, and what concerns no pool.
    put({ ...node("a", "10.2.0.3", "10.9.0.0/24"), metadata: { name: "a", annotations: { beat: "1" } } });
    put(node("c", "192.0.2.10", "10.8.0.0/24"));
    expect(changes).toBe(1);
    put(node("c", "10.2.0.10", "10.8.0.0/24"));
    expect([changes, texts()]).toEqual([2, ["10.2.0.3", "10.2.0.10", "10.2.7.0/24"]]);
    put(node("c", "192.0.2.10"));
    expect([changes, texts()]).toEqual([3, ["10.2.0.3", "10.2.7.0/24"]]);
    const gone = node("b", "192.0.2.1", "10.2.7.0/24");
    notify("deleted", "b", gone, gone, { by: "watch", after: 0 });
    expect([changes, texts()]).toEqual([4, ["10.2.0.3"]]);
    notify("deleted", "c", gone, gone, { by: "watch", after: 0 });
    expect(changes).toBe(4);
    prefix = parsePrefix("10.9.0.0/16");
    found.poolsChanged();
    expect(texts()).toEqual(["10.9.0.0/24"]);
    found[Symbol.dispose]();
    expect(listening).toBe(false);
    expect(isInPool({ family: 4, first: parseIp("10.9.0.1").value, last: 0n })).toBe(true);
});
