import type { CniCallError } from "@antrea/cni";
import { messageOf } from "@antrea/errors";
import { pods, referenceTo, type ApiClient, type EventInput, type ObjectReference } from "@antrea/kube";
import type { Logger } from "@antrea/runtime";
import { eventNote, type PodAttachment } from "../../platform/pod-interfaces/index.ts";
import { isPodOf } from "../../platform/pod-object.ts";

/** What an ADD asks for that is refused before any feature sees it: addresses only, or an interface. */
export type RefusedPart = "addresses" | "interface";

/** Dependencies of RefusedAdds. */
export interface RefusedAddsComponents {
    readonly kube: { readonly api: Pick<ApiClient, "find"> };
    /** `record` never blocks, never throws. */
    readonly events: { record(event: EventInput): void };
    readonly logger: Logger;
}

const readLimitMs = 10_000;

const kinds = {
    addresses: { reason: "IPAllocationFailed", action: "AllocateIP" },
    interface: { reason: "NetworksNotAttached", action: "AttachNetworks" },
} as const;

/** Records on Pods why an ADD for them was refused by its configuration alone, with the reasons of other failed ADDs. */
export class RefusedAdds {
    readonly #components: RefusedAddsComponents;

    constructor(components: RefusedAddsComponents) {
        this.#components = components;
    }

    /** Records one event, none if the API server has no such Pod; never rejects. `pod` is as the runtime names it. */
    async report(pod: PodAttachment, error: CniCallError, part: RefusedPart): Promise<void> {
        const regarding = await this.#objectOf(pod);
        if (regarding === undefined) return;
        this.#components.events.record({ type: "Warning", ...kinds[part], regarding, note: eventNote(error, pod) });
    }

    /** By its object, as a static Pod has another UID there than in CNI; as CNI names it if that cannot be read. */
    async #objectOf(asked: PodAttachment): Promise<ObjectReference | undefined> {
        const { podNamespace: namespace, podName: name, podUid } = asked;
        const { kube, logger } = this.#components;
        try {
            const pod = await kube.api.find(pods, { namespace, name }, { timeoutMs: readLimitMs });
            return pod !== undefined && isPodOf(pod, asked) ? referenceTo(pods, pod) : undefined;
        } catch (cause) {
            logger.debug("the Pod of a refused ADD cannot be read", { reason: messageOf(cause) });
            const uid = podUid === "" ? {} : { uid: podUid };
            return { apiVersion: "v1", kind: "Pod", namespace, name, ...uid };
        }
    }
}
