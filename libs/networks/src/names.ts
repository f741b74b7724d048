const labelPattern = /^(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const subdomainPattern = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** The rule that a Namespace's name breaks, as a sentence that continues the name; undefined for a valid one. */
export function namespaceFault(name: unknown): string | undefined {
    if (typeof name === "string" && labelPattern.test(name)) return undefined;
    return "must be the name of a Namespace: a DNS label (RFC 1123) of at most 63 characters";
}

/**
 * The rule that the name of a NetworkAttachmentDefinition or an IPPool breaks, as a sentence that continues the name;
 * undefined for a valid one.
 */
export function objectNameFault(name: unknown): string | undefined {
    if (typeof name === "string" && subdomainPattern.test(name)) return undefined;
    return "must be a DNS subdomain (RFC 1123) of at most 253 characters";
}
