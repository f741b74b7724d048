import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Paths of an authority and of a certificate that it signed for a user of the group system:masters. */
export interface ClientCertificate {
    readonly authority: string;
    readonly cert: string;
    readonly key: string;
}

/** Makes an authority and a client certificate in the folder. */
export function makeClientCertificate(folder: string): ClientCertificate {
    const at = (name: string): string => join(folder, name);
    const openssl = (...words: readonly string[]): void => {
        execFileSync("openssl", words, { stdio: "ignore" });
    };
    const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    openssl(
        "req",
        "-x509",
        ...newKey,
        "-keyout",
        at("ca.key"),
        "-out",
        at("ca.crt"),
        "-subj",
        "/CN=clients",
        "-days",
        "2",
    );
    openssl("req", ...newKey, "-keyout", at("c.key"), "-out", at("c.csr"), "-subj", "/O=system:masters/CN=cert-admin");
    const signed = ["-CA", at("ca.crt"), "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "2"];
    openssl("x509", "-req", "-in", at("c.csr"), "-out", at("c.crt"), ...signed);
    return { authority: at("ca.crt"), cert: at("c.crt"), key: at("c.key") };
}
