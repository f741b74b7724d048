import { readableOrEmpty, type Leaf } from "./leaves/readable.ts";

// Go's names, which the files use, and OpenSSL's, which Node.js uses.
const ciphers: ReadonlyMap<string, string> = new Map([
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"],
    ["TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"],
    ["TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"],
    ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"],
    ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"],
    ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"],
    ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"],
    ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"],
    ["TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"],
    ["TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"],
    ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
    ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"],
    ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"],
    ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"],
    ["TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"],
    ["TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"],
    ["TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"],
    ["TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"],
    ["TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"],
    ["TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"],
    ["TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"],
    ["TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"],
]);

// As in Go, the TLS 1.3 suites cannot be disabled.
const always = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

const oneCipher = ` *(${[...ciphers.keys()].join("|")}) *`;

/**
 * Schema of Go's cipher suite names separated by commas; the result has OpenSSL's names separated by colons, including
 * all of TLS 1.3, as Go cannot disable these. Undefined for "": the defaults of Node.js.
 */
export const tlsCipherSuites: Leaf<string | undefined> = readableOrEmpty(
    "must be names of TLS cipher suites separated by commas, such as TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, or empty",
    (text) => {
        const names = text.split(",").map((name) => ciphers.get(name.trim()));
        if (names.includes(undefined)) return undefined;
        return [...new Set([...always, ...names])].join(":");
    },
    { kind: "text", match: `^${oneCipher}(,${oneCipher})*$` },
);

/** TLS versions as Node.js names them (`minVersion` of node:tls). */
export type TlsVersion = "TLSv1" | "TLSv1.1" | "TLSv1.2" | "TLSv1.3";

const versions: ReadonlyMap<string, TlsVersion> = new Map([
    ["VersionTLS10", "TLSv1"],
    ["VersionTLS11", "TLSv1.1"],
    ["VersionTLS12", "TLSv1.2"],
    ["VersionTLS13", "TLSv1.3"],
]);

/**
 * Schema of Go's name of a TLS version, `VersionTLS10` to `VersionTLS13`; the result has the name of Node.js. Undefined
 * for "": the default of the server.
 */
export const tlsMinVersion: Leaf<TlsVersion | undefined> = readableOrEmpty(
    `must be one of ${[...versions.keys()].join(", ")}, or empty`,
    (text) => versions.get(text),
    { kind: "words", words: ["", ...versions.keys()], anyCase: false },
);
