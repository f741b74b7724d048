import { pods, referenceTo, type ApiClient, type EventRecorder, type Pod } from "@antrea/kube";
import type { Logger } from "@antrea/runtime";
import { isStaticPod, newSandboxStep } from "../../platform/pod-object.ts";

/**
 * The annotations by which a Pod requests secondary networks, and by which a plugin reports their status once attached.
 */
const networksAnnotation = "k8s.v1.cni.cncf.io/networks";
const statusAnnotation = "k8s.v1.cni.cncf.io/network-status";

/** Dependencies of IgnoredNetworks. */
export interface IgnoredNetworksComponents {
    readonly api: Pick<ApiClient, "list">;
    readonly events: Pick<EventRecorder, "record">;
    readonly logger: Logger;
}

/**
 * Secondary networks are not supported: an annotated Pod starts with only its interface on the Pod network. Records one
 * event on each such Pod of this Node, unless another plugin has set the status annotation.
 */
export class IgnoredNetworks {
    readonly #components: IgnoredNetworksComponents;
    readonly #nodeName: string;
    /** UIDs of the Pods that have their event. */
    #reported: ReadonlySet<string> = new Set();
    /** Whether Pods may have been added, or got their addresses, since the last check. */
    #isDue = true;

    constructor(components: IgnoredNetworksComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
    }

    /** To be called when an ADD has completed: the next check reads the Pods. */
    podAdded(): void {
        this.#isDue = true;
    }

    /**
     * Reads the Pods of this Node, if Pods were added since the last check or had no addresses then. Rejects with
     * KubeError; the next call repeats it.
     */
    async check(signal: AbortSignal): Promise<void> {
        if (!this.#isDue) return;
        // Before the request: its answer may lack a Pod that is added meanwhile.
        this.#isDue = false;
        try {
            await this.#check(signal);
        } catch (error) {
            this.#isDue = true;
            throw error;
        }
    }

    async #check(signal: AbortSignal): Promise<void> {
        const { api } = this.#components;
        const { items } = await api.list(pods, { fieldSelector: `spec.nodeName=${this.#nodeName}`, signal });
        const annotated = items.filter(asksForNetworks);
        const wired = annotated.filter(isWired);
        for (const pod of wired) {
            if (!this.#reported.has(uidOf(pod)) && !isAnswered(pod)) this.#report(pod);
        }
        this.#reported = new Set(wired.map(uidOf));
        if (annotated.length > wired.length) this.#isDue = true;
    }

    #report(pod: Pod): void {
        const isStatic = isStaticPod(pod);
        const again = newSandboxStep(isStatic, "create the Pod again");
        const where = isStatic ? " in the manifest" : "";
        const note =
            `Antrea does not read the annotation ${networksAnnotation} in this version. If no other plugin does either ` +
            `(none has written ${statusAnnotation}), the Pod has its interface on the Pod network only; install a ` +
            `plugin that reads the annotation, such as Multus, and ${again}, or remove the annotation${where}`;
        const name = `${pod.metadata?.namespace}/${pod.metadata?.name}`;
        this.#components.logger.warn("an annotation for secondary networks is not read", { pod: name, reason: note });
        const regarding = referenceTo(pods, pod);
        const event = { type: "Warning", reason: "SecondaryNetworksIgnored", action: "AttachNetworks", note } as const;
        this.#components.events.record({ regarding, ...event });
    }
}

function asksForNetworks({ metadata, spec, status }: Pod): boolean {
    const asked = metadata?.annotations?.[networksAnnotation]?.trim() ?? "";
    const ended = status?.phase === "Succeeded" || status?.phase === "Failed";
    return asked !== "" && asked !== "[]" && spec?.hostNetwork !== true && !ended;
}

/** Whether the Pod's addresses are known: a plugin that handles the annotation has set the status before. */
function isWired({ status }: Pod): boolean {
    return (status?.podIPs ?? []).length > 0;
}

function isAnswered({ metadata }: Pod): boolean {
    return statusAnnotation in (metadata?.annotations ?? {});
}

function uidOf({ metadata }: Pod): string {
    return metadata?.uid ?? "";
}
