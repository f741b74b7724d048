import { type Cluster } from "./cluster/index.ts";
import { CliError } from "./errors.ts";
import { type Completion } from "./program/index.ts";

/** An object of a Namespace that a command line names. */
export interface NamedObject {
    readonly namespace: string;
    readonly name: string;
}

/** A kind that a command line names: in messages, and as kubectl abbreviates it. */
export interface NamedKind {
    readonly kind: string;
    readonly words: readonly string[];
    /** Of this form: `default/web-0`. */
    readonly example: string;
}

/**
 * Reads `NAME`, `NAMESPACE/NAME`, or kubectl's `pod/NAME`. `given` is the Namespace of --namespace, `usual` that for a name
 * without one. Throws CliError `USAGE`.
 */
export function readObjectName(
    text: string,
    { kind, words, example }: NamedKind,
    { given, usual }: { readonly given: string | undefined; readonly usual: string },
): NamedObject {
    const parts = text.split("/");
    const [first = "", second] = parts;
    if (parts.length > 2 || parts.includes("")) {
        const next = `write NAMESPACE/NAME, such as ${example}`;
        throw new CliError("USAGE", "caller", `"${text}" names no ${kind}`, next);
    }
    const namespace = given ?? usual;
    if (second === undefined) return { namespace, name: first };
    if (words.includes(first)) return { namespace, name: second };
    if (given !== undefined && given !== first) {
        const what = `"${text}" is in Namespace ${first}, and --namespace is ${given}`;
        throw new CliError("USAGE", "caller", what, "leave one of them out");
    }
    return { namespace: first, name: second };
}

/**
 * Completes the Namespace first, then the objects in it, which `list` returns by name: a cluster has too many to list all.
 * `namespace` is that of --namespace.
 */
export async function completeObjectName(
    cluster: Pick<Cluster, "namespaces">,
    { typed, namespace }: { readonly typed: string; readonly namespace: string | undefined },
    list: (namespace: string) => Promise<readonly Completion[]>,
): Promise<readonly Completion[]> {
    const slash = typed.indexOf("/");
    if (slash < 0 && namespace === undefined) {
        return (await cluster.namespaces()).map(({ name }) => ({ value: `${name}/`, open: true }));
    }
    const of = namespace ?? typed.slice(0, slash);
    const prefix = namespace === undefined ? `${of}/` : "";
    return (await list(of)).map((one) => ({ ...one, value: prefix + one.value }));
}
