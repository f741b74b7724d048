import { createPrivateKey, X509Certificate } from "node:crypto";
import { messageOf } from "@antrea/errors";
import { type Secret } from "@antrea/kube";
import { createAuthority, type Certificate } from "./certificate.ts";

/**
 * The authority (CA) that signs the serving certificates, and its predecessors that are still trusted: the content of
 * the Secret.
 */
export interface Authorities {
    /** The signing authority with its key. */
    readonly current: Certificate;
    /**
     * Certificates in PEM, newest first. They no longer sign, but replicas may still serve certificates that
     * they signed.
     */
    readonly previous: readonly string[];
}

/** Lifetimes of an authority, in milliseconds. */
export interface AuthorityTimes {
    /** Validity of an authority; it is replaced after two thirds of it. */
    readonly authorityMs: number;
    /** How long after a replacement the previous authorities remain trusted. */
    readonly overlapMs: number;
}

/**
 * A change to the authorities that is due: their content after it, and its reason. `no authority`: there is no Secret;
 * `unreadable`: its content is not valid; `replaced in time`: two thirds of the validity are over; `overlap over`: the
 * previous ones are dropped.
 */
export interface AuthorityChange {
    readonly authorities: Authorities;
    readonly reason: "no authority" | "unreadable" | "replaced in time" | "overlap over";
}

// Tolerance for clients whose clock is behind.
const skewMs = 3_600_000;
// Limit of the certificates taken over from a bundle that others may have written.
const maxPrevious = 8;

/** Fields of the Secret. `previous.crt` holds certificates only: a replaced authority signs nothing. */
const fields = { cert: "ca.crt", key: "ca.key", previous: "previous.crt" } as const;

/**
 * Creates an authority that is valid from `nowMs` (wall time in milliseconds, less an hour for clients whose clock is
 * behind) for `times.authorityMs`. Each has a key and a common name (`antrea-webhook-ca@nowMs`) of its own.
 */
export function newAuthority(nowMs: number, times: AuthorityTimes): Certificate {
    // Each has a name of its own, so that a verifier with several authorities finds the right one by name.
    const commonName = `antrea-webhook-ca@${nowMs}`;
    return createAuthority({ commonName, notBeforeMs: nowMs - skewMs, validMs: times.authorityMs + skewMs });
}

/**
 * Returns the wall time in milliseconds at which a certificate of this library was issued; its validity begins an hour
 * earlier.
 */
export function issuedAtMs(cert: X509Certificate): number {
    return cert.validFromDate.getTime() + skewMs;
}

/**
 * Returns the wall time in milliseconds from which a certificate is to be replaced: after two thirds of its validity.
 */
export function replaceAtMs(cert: X509Certificate): number {
    const issued = issuedAtMs(cert);
    return issued + ((cert.validToDate.getTime() - issued) * 2) / 3;
}

/**
 * Returns the change to the authorities that is due now; undefined if none is. Writes nothing; a new authority keeps at
 * most 8 previous ones, those that have not expired.
 *
 * @param found content of the Secret, as `decodeAuthorities` returns it; undefined without a Secret
 * @param trusted the bundle that clients have now (PEM): it contains the authority of every certificate that a replica
 * still serves, even if the Secret is lost
 * @param nowMs wall time in milliseconds
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

/**
 * Returns the certificates that clients must trust, the current one first, as PEM; the same text for the same
 * authorities.
 */
export function bundleOf(authorities: Authorities): string {
    return [authorities.current.cert, ...authorities.previous].map((pem) => `${pem.trim()}\n`).join("");
}

/** Returns `data` of the Secret for these authorities, in base64: `ca.crt`, `ca.key` and `previous.crt`, all PEM. */
export function encodeAuthorities(authorities: Authorities): Readonly<Record<string, string>> {
    const encode = (text: string): string => Buffer.from(text, "utf8").toString("base64");
    return {
        [fields.cert]: encode(authorities.current.cert),
        [fields.key]: encode(authorities.current.key),
        [fields.previous]: encode(authorities.previous.map((pem) => `${pem.trim()}\n`).join("")),
    };
}

/**
 * Decodes the authorities from the Secret (fields as `encodeAuthorities` writes them); returns a problem in one line if
 * its content is not valid or not from this program. Never throws; that they have expired is no problem.
 */
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

/**
 * Returns the PEM certificates in a text, in order and without what surrounds them; empty if there are none. They are
 * not parsed.
 */
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
