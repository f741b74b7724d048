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

/** The annotations of a Namespace from one write of it to the next. */
interface Said {
    readonly annotations: Annotations;
    /** The version of the store at which the next one came. */
    until: number;
}

/**
 * A Pod has addresses of pools that it or its Namespace names, or of its Node's subnet where neither does: the Namespace
 * that it was made in, not an earlier one of the name, as it was at some time since then.
 */
export class Wishes {
    readonly #truth: Truth;
    /** By name, the oldest first. */
    readonly #namespaces = new Map<string, Said[]>();
    /** By the UID that CNI knows them by: own annotations, and since which version of the store it is there. */
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
        // The mirror of a static Pod can come again; the first one counts.
        if (!this.#pods.has(known)) this.#pods.set(known, { annotations, since: version });
    }

    /** A container was answered this address. */
    answered({ id, podUid, podNamespace, podName }: Container, address: string, isOfPool: boolean): void {
        const pod = this.#pods.get(podUid);
        if (pod === undefined) return;
        const said = (this.#namespaces.get(podNamespace) ?? []).filter(({ until }) => until > pod.since);
        // A Pod whose admission took long can come after its Namespace is gone: then only its own annotation counts.
        const inherited = said.length === 0 ? [undefined] : said.map(({ annotations }) => annotations);
        const wished = inherited.map((annotations) => poolsOf(pod.annotations, annotations)?.names ?? []);
        const claim = this.#truth.claims.get(allocationName(parseIp(address)));
        // Freed by force while the ADD was under way: who may use what is not claimed is looked at elsewhere.
        if (isOfPool && claim?.spec.pod?.uid !== podUid) return;
        const pool = claim?.spec.pool ?? "";
        const isWished = wished.some((names) => (isOfPool ? names.includes(pool) : names.length === 0));
        if (isWished) return;
        const text = wished.map((names) => (names.length === 0 ? "none" : names.join())).join(" or ");
        this.#truth.violated(
            "a Pod's address is of the pools that are named for it",
            `container ${id} of Pod ${podNamespace}/${podName} has ${address} of ${isOfPool ? `IPPool ${pool}` : "its Node's subnet"}; named were ${text}`,
        );
    }
}

function annotationsOf({ metadata }: KubeObject): Annotations {
    return metadata?.annotations;
}
