/** The text that replaces a secret in a log line. */
export const hidden = "(hidden)";

const names = "token|bearer-?token|id-?token|refresh-?token|client-?secret|client-?key-?data|password|passphrase";
const secretName = new RegExp(`^(${names}|authorization|proxy-authorization|(ca|tls)\\.key)$`, "i");

/** Patterns of secrets, each with its replacement. */
const secrets: readonly (readonly [pattern: RegExp, stays: string])[] = [
    // PEM (RFC 7468); of one without its end, all that follows
    [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden],
    // the same in base64, as in Secrets and kubeconfigs; certificates begin alike
    [/LS0tLS1CRUdJTi[\w+/=]*/g, hidden],
    // JWT (RFC 7519), such as the tokens of ServiceAccounts
    [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, hidden],
    // HTTP credentials (RFC 9110 section 11.4)
    [/\b(authorization["'\\]*\s*[:=]\s*["'\\]*)[^\r\n"'\\]+/gi, `$1${hidden}`],
    [/\b(Bearer|Basic) +[\w.~+/=-]{16,}/gi, `$1 ${hidden}`],
    // a field of a kubeconfig or of JSON, whose name may be longer, as access_token
    [new RegExp(`(${names})(\\\\?["\']?\\s*[:=]\\s*\\\\?["\']?)[^\\s"\',}\\\\]+`, "gi"), `$1$2${hidden}`],
];
// Most texts contain nothing suspicious, which this one search shows.
const suspicious = new RegExp(`PRIVATE KEY|LS0tLS1CRUdJTi|eyJ|bearer|basic|authorization|${names}`, "i");

/**
 * Returns the text with secrets that it recognizes replaced by "(hidden)": PEM private keys (in base64 all PEM), JWTs,
 * HTTP credentials, and values of `token`, `password` or alike (`name: value`, `"name":"value"`) up to a space. Text
 * without such a form stays, as a password on its own.
 */
export function hideSecrets(text: string): string {
    if (!suspicious.test(text)) return text;
    return secrets.reduce((shown, [pattern, stays]) => shown.replace(pattern, stays), text);
}

/**
 * True if a field of this name holds a secret, whatever its value: the whole name, case ignored, is `token`,
 * `password`, `authorization`, `tls.key` or alike.
 */
export function isSecretName(name: string): boolean {
    return secretName.test(name);
}
