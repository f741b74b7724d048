import { pods, referenceTo, type ChangeListener, type EventInput, type Pod } from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";
import { newSandboxStep, isStaticPod } from "../../platform/pod-object.ts";

/** Delivers changes of the Pods of this Node, with their annotation `networksAnnotation`. */
export interface PodWatch {
    /** Registers a listener until the result is disposed of. */
    onChange(listener: ChangeListener<Pod>): Disposable;
    /** The Pod `namespace/name`; undefined if it was not delivered. */
    get(key: string): Pod | undefined;
}

/**
 * Records an event on each Pod whose annotation about networks changes after its interfaces were made: the change has no
 * effect on them.
 *
 * @param isOurs whether this agent attached the networks of the Pod; must not reject
 */
export function reportChangedAnnotations(
    watch: PodWatch,
    isOurs: (pod: Pod) => Promise<boolean>,
    record: (event: EventInput) => void,
): Disposable {
    const report = async (pod: Pod): Promise<void> => {
        if (!(await isOurs(pod))) return;
        record({
            type: "Warning",
            reason: "NetworksChangeIgnored",
            action: "AttachNetworks",
            regarding: referenceTo(pods, pod),
            note: `the change of the annotation ${networksAnnotation} has no effect on the running Pod; next: ${newSandboxStep(isStaticPod(pod), "delete the Pod, so that it is created again with the annotation")}`,
        });
    };
    return watch.onChange((type, _key, pod, old) => {
        if (type === "updated" && old !== undefined && textOf(old) !== textOf(pod)) void report(pod);
    });
}

function textOf({ metadata }: Pod): string {
    return metadata?.annotations?.[networksAnnotation]?.trim() ?? "";
}
