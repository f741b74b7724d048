import { isDeepStrictEqual } from "node:util";
import {
    allocationAddress,
    blockText,
    forceDeleteAnnotation,
    podIpsAnnotation,
    poolsAnnotation,
    type IpAllocation,
    type IpPool,
} from "@antrea/crd";
import { ipAllocationSpec, ipPoolSpec } from "@antrea/crd/schema";
import { formatIp, parseIp } from "@antrea/ip";
import { type KubeObject } from "@antrea/kube";
import { statusAnnotation } from "@antrea/networks";
import { Refusal } from "./answer.ts";
import { type Kind } from "./kinds.ts";

/** The client of a request. */
export interface User {
    readonly name: string;
    /** The Node that the token is bound to. */
    readonly node?: string;
}

/** User name of the agents. */
export const agentUser = "system:serviceaccount:kube-system:antrea-agent";
/** User name of the controller. */
export const controllerUser = "system:serviceaccount:kube-system:antrea-controller";
/** User name of the webhook. */
export const webhookUser = "system:serviceaccount:kube-system:antrea-webhook";

/** A write to validate. */
export interface Write {
    readonly kind: Kind;
    readonly subresource: string;
    readonly operation: "CREATE" | "UPDATE" | "DELETE";
    readonly name: string;
    readonly namespace: string;
    readonly before: KubeObject | undefined;
    readonly after: KubeObject | undefined;
    readonly user: User;
}

/** The validation rules of the CustomResourceDefinitions (libs/crd), as the API server applies them. Throws Refusal. */
export function checkSchema({ kind, before, after, subresource }: Write): void {
    if (after === undefined || subresource !== "") return;
    const { plural } = kind.resource;
    if (plural === "ipallocations") checkAllocation(after as IpAllocation, before as IpAllocation | undefined);
    if (plural === "ippools") checkPool(after as IpPool, before as IpPool | undefined);
}

function checkAllocation(allocation: IpAllocation, old: IpAllocation | undefined): void {
    const name = allocation.metadata?.name ?? "";
    const { success, error } = ipAllocationSpec.safeParse(allocation.spec);
    if (!success) throw invalid("IPAllocation", name, error.message);
    const { address, block, state, owner, pod, pool } = allocation.spec;
    const ip = readable(() => parseIp(address));
    if (ip === undefined || formatIp(ip) !== address)
        throw invalid("IPAllocation", name, "spec.address: not canonical");
    const named = readable(() => allocationAddress(name));
    if (named === undefined || formatIp(named) !== address) {
        throw invalid("IPAllocation", name, "metadata.name is not the name of an allocation of spec.address");
    }
    if (block !== blockText(ip)) throw invalid("IPAllocation", name, "spec.block: not the block of the address");
    if ((state === "Allocated") !== (pod !== undefined)) {
        throw invalid("IPAllocation", name, "spec.state: pod must be set exactly when state is Allocated");
    }
    if ((allocation.spec.poolUID === undefined) !== (allocation.spec.poolGeneration === undefined)) {
        throw invalid("IPAllocation", name, "spec.poolUID: poolUID and poolGeneration must be set together");
    }
    const whole =
        owner.kind === "Node" || owner.kind === "Gateway"
            ? owner.name !== undefined
            : owner.namespace !== undefined &&
              owner.name !== undefined &&
              (owner.kind === "Pod" ? owner.uid !== undefined : owner.index !== undefined);
    if (!whole) throw invalid("IPAllocation", name, "spec.owner: incomplete");
    const fits =
        pod === undefined ||
        (owner.kind === "Pod"
            ? owner.uid === pod.uid
            : owner.kind === "StatefulSet" &&
              owner.namespace === pod.namespace &&
              pod.name === `${owner.name}-${owner.index}`);
    if (!fits) throw invalid("IPAllocation", name, "spec.pod: must be the Pod that owns the address");
    if (owner.interface !== undefined && pod !== undefined && owner.interface !== pod.interface) {
        throw invalid("IPAllocation", name, "spec.pod: must be the interface for which the owner keeps the address");
    }
    if (old === undefined) return;
    if (address !== old.spec.address || block !== old.spec.block || pool !== old.spec.pool) {
        throw invalid("IPAllocation", name, "spec: address, block and pool cannot be changed");
    }
}

function checkPool(pool: IpPool, old: IpPool | undefined): void {
    const name = pool.metadata?.name ?? "";
    const { success, error } = ipPoolSpec.safeParse(pool.spec);
    if (!success) throw invalid("IPPool", name, error.message);
    if (old !== undefined && old.spec.ipVersion !== pool.spec.ipVersion) {
        throw invalid("IPPool", name, "spec.ipVersion: cannot be changed");
    }
}

/** The chart's admission policies (libs/crd, policies.ts). Throws Refusal. */
export function checkPolicies(write: Write): void {
    const { plural } = write.kind.resource;
    if (plural === "ipallocations") checkAllocationPolicies(write);
    if (plural === "pods" && write.operation === "UPDATE") checkAgentsPods(write);
    if (write.operation !== "UPDATE" || write.subresource !== "") return;
    if (plural === "pods") checkAnnotations(write, (object) => object?.metadata?.annotations);
    if (plural === "deployments" || plural === "statefulsets") {
        checkAnnotations(
            write,
            (object) => (object as WithTemplate | undefined)?.spec?.template?.metadata?.annotations,
            { mayBeRemoved: true },
        );
    }
}

type Annotations = Readonly<Record<string, string>> | undefined;
interface WithTemplate {
    readonly spec?: { readonly template?: { readonly metadata?: { readonly annotations?: Annotations } } };
}

function checkAllocationPolicies({ user, operation, name, before, after }: Write): void {
    const [old, allocation] = [before as IpAllocation | undefined, after as IpAllocation | undefined];
    if (user.name === agentUser) {
        const { node = "" } = user;
        if (node === "") throw new Refusal(403, "the token is not bound to a Node");
        const isMine = (one: IpAllocation | undefined): boolean =>
            one?.spec.state === "Allocated" && one.spec.pod?.nodeName === node;
        const isSets = allocation?.spec.owner.kind === "StatefulSet";
        const allowed =
            operation === "CREATE"
                ? isMine(allocation) && (isSets || allocation?.spec.owner.kind === "Pod")
                : operation === "DELETE"
                  ? isMine(old) && old?.spec.owner.kind === "Pod"
                  : isDeepStrictEqual(allocation?.spec.owner, old?.spec.owner) &&
                    ((isMine(old) && isMine(allocation)) ||
                        (isSets &&
                            (isMine(old)
                                ? allocation.spec.state === "Reserved"
                                : isMine(allocation) && old?.spec.state === "Reserved")));
        if (!allowed) throw new Refusal(403, `the agent of Node ${node} cannot ${operation} the allocation of ${name}`);
    }
    const isOurs = user.name === agentUser || user.name === controllerUser;
    if (isOurs || operation === "CREATE" || old?.spec.state !== "Allocated") return;
    if (old.metadata?.annotations?.[forceDeleteAnnotation] === "true") return;
    if (allocation !== undefined && isDeepStrictEqual(allocation.spec, old.spec)) return;
    throw new Refusal(403, `address ${name} is used by a Pod`);
}

/** An agent writes one annotation of the Pods on its Node. */
function checkAgentsPods({ user, before, after, name }: Write): void {
    if (user.name !== agentUser) return;
    const { node = "" } = user;
    const [old, now] = [before, after].map((object) => withoutStatus(object as PodObject | undefined));
    const isIts = node !== "" && (before as PodObject | undefined)?.spec?.nodeName === node;
    if (!isIts) throw new Refusal(403, `the agent of Node ${node} cannot change Pod ${name}: it is not on its Node`);
    if (isDeepStrictEqual(old, now)) return;
    throw new Refusal(403, `an agent changes nothing of a Pod but the annotation ${statusAnnotation}`);
}

interface PodObject extends KubeObject {
    readonly spec?: { readonly nodeName?: string };
    readonly status?: object;
}

/** What an agent must not change. */
function withoutStatus(pod: PodObject | undefined): unknown {
    const { labels, finalizers, ownerReferences, annotations = {} } = pod?.metadata ?? {};
    const { [statusAnnotation]: _, ...others } = annotations;
    return { labels, finalizers, ownerReferences, others, spec: pod?.spec, status: pod?.status ?? {} };
}

function checkAnnotations(
    { kind, before, after, name }: Write,
    of: (object: KubeObject | undefined) => Annotations,
    { mayBeRemoved = false }: { readonly mayBeRemoved?: boolean } = {},
): void {
    for (const key of [poolsAnnotation, podIpsAnnotation]) {
        const value = of(after)?.[key];
        if (of(before)?.[key] === value || (mayBeRemoved && value === undefined)) continue;
        throw invalid(kind.resource.kind, name, `annotation ${key} of a Pod or template cannot be changed`);
    }
}

function invalid(kind: string, name: string, what: string): Refusal {
    return new Refusal(422, `${kind} "${name}" is invalid: ${what}`);
}

function readable<T>(read: () => T): T | undefined {
    try {
        return read();
    } catch {
        return undefined;
    }
}
