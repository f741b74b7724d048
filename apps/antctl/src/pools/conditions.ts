import { type Condition, type IpPoolStatus } from "@antrea/crd";

/**
 * The conditions of a pool as words, and whether they are good: `Unknown` if it has none yet or no status, else `Ready`
 * or `NotReady`, then `Exhausted` and `Overlapping` if they are true.
 */
export function conditionWords(
    status: IpPoolStatus | undefined,
): readonly { readonly word: string; readonly good: boolean }[] {
    const conditions = status?.conditions ?? [];
    if (conditions.length === 0) return [{ word: "Unknown", good: false }];
    const is = (type: string, value: Condition["status"]): boolean =>
        conditions.some((condition) => condition.type === type && condition.status === value);
    return [
        is("Ready", "True") ? { word: "Ready", good: true } : { word: "NotReady", good: false },
        ...["Exhausted", "Overlapping"].filter((type) => is(type, "True")).map((word) => ({ word, good: false })),
    ];
}
