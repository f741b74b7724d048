/** What stands in a log line in the place of a secret. */
export const hidden = "(hidden)";

const names = "token|bearer-?token|id-?token|refresh-?token|client-?secret|client-?key-?data|password|passphrase";
const secretName = new RegExp(`^(${names}|authorization|proxy-authorization|(ca|tls)\\.key)$`, "i");

/** Each with what stays of the text that it finds. */
const secrets: readonly (readonly [pattern: RegExp, stays: string])[] = [
    // PEM (RFC 7468), whole or cut off
    [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden],
    // the same in base64, as Secrets and kubeconfigs hold it; certificates begin alike
    [/LS0tLS1CRUdJTi[\w+/=]*/g, hidden],
    // JWT (RFC 7519), as the tokens of ServiceAccounts are
    [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, hidden],
    // HTTP credentials (RFC 9110 section 11.4)
    [/\b(authorization["'\\]*\s*[:=]\s*["'\\]*)[^\r\n"'\\]+/gi, `$1${hidden}`],
    [/\b(Bearer|Basic) +[\w.~+/=-]{16,}/gi, `$1 ${hidden}`],
    // a field of a kubeconfig or of JSON
    [new RegExp(`\\b(${names})(\\\\?["\']?\\s*[:=]\\s*\\\\?["\']?)[^\\s"\',}\\\\]+`, "gi"), `$1$2${hidden}`],
];
// Most texts have nothing of the kind, and this one look tells.
const suspicious = new RegExp(`PRIVATE KEY|LS0tLS1CRUdJTi|eyJ|bearer|basic|authorization|${names}`, "i");

/** The text without keys, tokens and passwords: whatever got into it, by an error of a library or an echo of a peer. */
export function hideSecrets(text: string): string {
    if (!suspicious.test(text)) return text;
    return secrets.reduce((shown, [pattern, stays]) => shown.replace(pattern, stays), text);
}

/** Whether a field of this name holds a secret, whatever it looks like. */
export function isSecretName(name: string): boolean {
    return secretName.test(name);
}
