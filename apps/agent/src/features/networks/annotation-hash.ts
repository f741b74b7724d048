import { createHash } from "node:crypto";
import type { Pod } from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";

/** 64 bits, which only have to differ between the few texts that one Pod has had. */
const digits = 16;

/** The text by which a Pod requests networks, without white space around it; "" if it requests none. */
export function requestedText({ metadata }: Pick<Pod, "metadata">): string {
    return metadata?.annotations?.[networksAnnotation]?.trim() ?? "";
}

/** The fingerprint of that text, as 16 hexadecimal digits, for the record of the interfaces that are made from it. */
export function annotationHash(pod: Pick<Pod, "metadata">): string {
    return createHash("sha256").update(requestedText(pod)).digest("hex").slice(0, digits);
}
