import { allocationName } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { poolsOf } from "@antrea/ipam";
import { type KubeObject } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Change } from "../api/store.ts";
import { mirroredHash } from "../cluster/mirror-pods.ts";
import { type Container, type Truth } from "./truth.ts";

const podKind = kindOf("v1", "pods");
const namespaceKind = kindOf("v1", "namespaces");

type Annotations = Readonly<Record<string, string>> | undefined;

/** The annotations of a Namespace between two writes. */
interface NamespaceAnnotations {
    readonly annotations: Annotations;
    /** The store version of the next write. */
    until: number;
}

/**
 * A Pod has addresses of the pools that it or its Namespace names, or of its Node's subnet if neither names any: the
 * Namespace in which it was created, not an earlier one of the name, in a state since then.
 */
export class PoolSelections {
    readonly #truth: Truth;
    /** By name, oldest first. */
    readonly #namespaces = new Map<string, NamespaceAnnotations[]>();
    /** By the UID in CNI requests: its own annotations, and the store version at which it was created. */
    readonly #pods = new Map<string, { readonly annotations: Annotations; readonly since: number }>();

    constructor(truth: Truth) {
        this.#truth = truth;
    }

    changed({ kind, key, version, before, after }: Change): void {
        if (kind === namespaceKind) {
            const known = this.#namespaces.get(key) ?? [];
            const last = known.at(-1);
            if (last !== undefined) last.until = version;
            if (after !== undefined) known.push({ annotations: annotationsOf(after.object), until: Infinity });
            this.#namespaces.set(key, known);
        }
        if (kind !== podKind || after === undefined || before !== undefined) return;
        const { uid = "", annotations } = after.object.metadata ?? {};
        const known = mirroredHash(after.object) ?? uid;
        // The mirror Pod of a static Pod may be recreated; the first one counts.
        if (!this.#pods.has(known)) this.#pods.set(known, { annotations, since: version });
    }

    /** An ADD returned this address to a container. */
    answered({ id, podUid, podNamespace, podName }: Container, address: string, isOfPool: boolean): void {
        const pod = this.#pods.get(podUid);
        if (pod === undefined) return;
        const namespaces = (this.#namespaces.get(podNamespace) ?? []).filter(({ until }) => until > pod.since);
        // A Pod with a slow admission may be created after its Namespace is deleted: then only its own annotation
        // counts.
        const inherited = namespaces.length === 0 ? [undefined] : namespaces.map(({ annotations }) => annotations);
        const selected = inherited.map((annotations) => poolsOf(pod.annotations, annotations)?.names ?? []);
        const allocation = this.#truth.allocations.get(allocationName(parseIp(address)));
        // Force-released during the ADD: use without an allocation is checked elsewhere.
        if (isOfPool && allocation?.spec.pod?.uid !== podUid) return;
        const pool = allocation?.spec.pool ?? "";
        const isSelected = selected.some((names) => (isOfPool ? names.includes(pool) : names.length === 0));
        if (isSelected) return;
        const text = selected.map((names) => (names.length === 0 ? "none" : names.join())).join(" or ");
        this.#truth.violated(
            "a Pod's address is of the pools that are named for it",
            `container ${id} of Pod ${podNamespace}/${podName} has ${address} of ${isOfPool ? `IPPool ${pool}` : "its Node's subnet"}; named were ${text}`,
        );
    }
}

function annotationsOf({ metadata }: KubeObject): Annotations {
    return metadata?.annotations;
}
