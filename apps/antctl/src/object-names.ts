const subdomain = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/**
 * Whether it is a name that the API server accepts for most kinds: a lower-case DNS subdomain (RFC 1123), at most 253
 * characters.
 */
export function isName(value: unknown): value is string {
    return typeof value === "string" && subdomain.test(value);
}

/** Whether the API server accepts it as a Namespace name: a lower-case DNS label (RFC 1123), at most 63 characters. */
export function isNamespaceName(value: unknown): value is string {
    return isName(value) && value.length <= 63 && !value.includes(".");
}
