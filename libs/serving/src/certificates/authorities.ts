import { createPrivateKey, X509Certificate } from "node:crypto";
import { messageOf } from "@antrea/errors";
import { type Secret } from "@antrea/kube";
import { createAuthority, type Certificate } from "./certificate.ts";

/** Who signs the serving certificates, and whose signatures are still good. */
export interface Authorities {
    /** Signs. */
    readonly current: Certificate;
    /** PEM, newest first. Sign nothing any more, but serving certificates of theirs may still be shown. */
    readonly previous: readonly string[];
}

export interface AuthorityTimes {
    /** How long an authority is valid; it is replaced after two thirds of that. */
    readonly authorityMs: number;
    /** How long after a replacement the ones before are trusted. */
    readonly overlapMs: number;
}

/** What is to change, and why. */
export interface AuthorityChange {
    readonly authorities: Authorities;
    readonly reason: "no authority" | "unreadable" | "replaced in time" | "overlap over";
}

// Clocks of clients may be behind by this much.
const skewMs = 3_600_000;
// What a bundle that others wrote may bring along.
const maxPrevious = 8;

/** The fields of the Secret. `previous.crt` holds certificates only: an authority that is replaced signs no more. */
const fields = { cert: "ca.crt", key: "ca.key", previous: "previous.crt" } as const;

/** A new authority that is valid from now. */
export function newAuthority(nowMs: number, times: AuthorityTimes): Certificate {
    // Each has a name of its own, so that a verifier with several need not try them in turn.
    const commonName = `antrea-webhook-ca@${nowMs}`;
    return createAuthority({ commonName, notBeforeMs: nowMs - skewMs, validMs: times.authorityMs + skewMs });
}

/** When a certificate of ours was made; it is valid from a little before. */
export function issuedAtMs(cert: X509Certificate): number {
    return cert.validFromDate.getTime() + skewMs;
}

/** The moment from which a certificate of ours is to be replaced: after two thirds of its time. */
export function replaceAtMs(cert: X509Certificate): number {
    const issued = issuedAtMs(cert);
    return issued + ((cert.validToDate.getTime() - issued) * 2) / 3;
}

/**
 * What is to be done about the authorities at this moment, undefined when nothing is. `found` is what the Secret holds,
 * undefined without a Secret; `trusted` the bundle that clients have now: whoever signed what a replica still shows is
 * in it, also when the Secret is lost.
 */
export function dueChange(
    found: Authorities | { readonly problem: string } | undefined,
    trusted: string,
    nowMs: number,
    times: AuthorityTimes,
): AuthorityChange | undefined {
    if (found === undefined || "problem" in found) {
        const authorities = { current: newAuthority(nowMs, times), previous: stillValid(pemsOf(trusted), nowMs) };
        return { authorities, reason: found === undefined ? "no authority" : "unreadable" };
    }
    const cert = new X509Certificate(found.current.cert);
    if (nowMs >= replaceAtMs(cert)) {
        const previous = stillValid([found.current.cert, ...found.previous], nowMs);
        return { authorities: { current: newAuthority(nowMs, times), previous }, reason: "replaced in time" };
    }
    if (found.previous.length > 0 && nowMs >= issuedAtMs(cert) + times.overlapMs) {
        return { authorities: { current: found.current, previous: [] }, reason: "overlap over" };
    }
    return undefined;
}

/** The certificates that clients are to trust, PEM; the same text for the same authorities. */
export function bundleOf(authorities: Authorities): string {
    return [authorities.current.cert, ...authorities.previous].map((pem) => `${pem.trim()}\n`).join("");
}

/** The content of the Secret, its fields in base64. */
export function encodeAuthorities(authorities: Authorities): Readonly<Record<string, string>> {
    const encode = (text: string): string => Buffer.from(text, "utf8").toString("base64");
    return {
        [fields.cert]: encode(authorities.current.cert),
        [fields.key]: encode(authorities.current.key),
        [fields.previous]: encode(authorities.previous.map((pem) => `${pem.trim()}\n`).join("")),
    };
}

/** Reads the Secret; says what is wrong when somebody else wrote it. */
export function decodeAuthorities(secret: Secret): Authorities | { readonly problem: string } {
    const read = (field: string): string => Buffer.from(secret.data?.[field] ?? "", "base64").toString("utf8");
    const current = { cert: read(fields.cert), key: read(fields.key) };
    try {
        const cert = new X509Certificate(current.cert);
        if (!cert.ca) return { problem: `${fields.cert} is not an authority` };
        if (!/^CN=[^\n]*$/.test(cert.subject)) return { problem: `${fields.cert} was not made by antrea-webhook` };
        if (!cert.checkPrivateKey(createPrivateKey(current.key))) {
            return { problem: `${fields.key} is not the key of ${fields.cert}` };
        }
        return { current, previous: pemsOf(read(fields.previous)) };
    } catch (error) {
        return { problem: `${fields.cert} or ${fields.key} cannot be read: ${messageOf(error)}` };
    }
}

/** The PEM certificates of a text, without what stands around them. */
export function pemsOf(text: string): readonly string[] {
    return text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
}

function stillValid(pems: readonly string[], nowMs: number): readonly string[] {
    const valid = (pem: string): boolean => {
        try {
            return new X509Certificate(pem).validToDate.getTime() > nowMs;
        } catch {
            return false;
        }
    };
    return [...new Set(pems.map((pem) => pem.trim()))].filter(valid).slice(0, maxPrevious);
}
