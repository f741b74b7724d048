import type { Attachment } from "../../platform/pod-interfaces/index.ts";

const mark = "antrea4";

/**
 * The alias of the link of a virtual function that a Pod has, for `fromFunctionAlias`. The Pod can change it: it only helps
 * to find the link.
 */
export function toFunctionAlias({ containerId, ifName }: Attachment): string {
    return [mark, containerId, ifName].join(" ");
}

/** Decodes the alias of a link; undefined if it is not that of a virtual function that a Pod has, or had. */
export function fromFunctionAlias(text: string | undefined): Attachment | undefined {
    const [found, containerId, ifName, ...rest] = (text ?? "").split(" ");
    if (found !== mark || !containerId || !ifName || rest.length > 0) return undefined;
    return { containerId, ifName };
}
