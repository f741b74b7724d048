import { pods, referenceTo, type ChangeListener, type EventInput, type Pod } from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";
import { newSandboxStep, isStaticPod } from "../../platform/pod-object.ts";
import { annotationHash, requestedText } from "./annotation-hash.ts";

/** Delivers changes of the Pods of this Node, with their annotation `networksAnnotation`. */
export interface PodWatch {
    /** Registers a listener until the result is disposed of. */
    onChange(listener: ChangeListener<Pod>): Disposable;
    /** The Pod `namespace/name`; undefined if it was not delivered. */
    get(key: string): Pod | undefined;
}

/** The Pods whose networks this agent has attached. */
export interface AttachedPods {
    /** Whether it attached those of the Pod; must not reject. */
    isOurs(pod: Pod): Promise<boolean>;
    /** The fingerprints of annotations, by `annotationHash`, from which containers of the Pod were made; empty if unknown. */
    madeFrom(pod: Pod): readonly string[];
    /** The Pods `namespace/name` of an earlier start of the agent. */
    readonly before: readonly string[];
}

/**
 * Records an event on each Pod whose annotation about networks changes after its interfaces were made, also while the agent
 * was down: the change has no effect on them.
 */
export function reportChangedAnnotations(
    watch: PodWatch,
    attached: AttachedPods,
    record: (event: EventInput) => void,
): Disposable {
    const report = async (pod: Pod): Promise<void> => {
        if (!(await attached.isOurs(pod))) return;
        record({
            type: "Warning",
            reason: "NetworksChangeIgnored",
            action: "AttachNetworks",
            regarding: referenceTo(pods, pod),
            note: `the change of the annotation ${networksAnnotation} has no effect on the running Pod; next: ${newSandboxStep(isStaticPod(pod), "delete the Pod, so that it is created again with the annotation")}`,
        });
    };
    const compare = (pod: Pod): void => {
        const hashes = attached.madeFrom(pod);
        if (hashes.length > 0 && !hashes.includes(annotationHash(pod))) void report(pod);
    };
    const listener = watch.onChange((type, _key, pod, old) => {
        if (type === "added") compare(pod);
        if (type === "updated" && old !== undefined && requestedText(old) !== requestedText(pod)) void report(pod);
    });
    // A watch that others began may have delivered them before.
    for (const key of new Set(attached.before)) {
        const pod = watch.get(key);
        if (pod !== undefined) compare(pod);
    }
    return listener;
}
