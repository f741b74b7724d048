import { createPrivateKey, X509Certificate } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { der, integer, oid, Tag, time } from "../../src/certificates/der.ts";
import { createAuthority, createSelfSigned, createSigned } from "../../src/certificates/certificate.ts";

describe("DER", () => {
    it.each<[string, Buffer, string]>([
        ["a short length", der(Tag.OCTET_STRING, Buffer.alloc(127)), `047f${"00".repeat(127)}`],
        ["a long length", der(Tag.OCTET_STRING, Buffer.alloc(128)), `048180${"00".repeat(128)}`],
        ["a longer length", der(Tag.OCTET_STRING, Buffer.alloc(256)), `04820100${"00".repeat(256)}`],
        ["zero", integer(0n), "020100"],
        ["127", integer(127n), "02017f"],
        ["128, which needs a clear sign bit", integer(128n), "02020080"],
        ["an object identifier", oid("1.2.840.10045.4.3.2"), "06082a8648ce3d040302"],
        ["a UTCTime", time(Date.UTC(2049, 11, 31, 23, 59, 59)), `170d${Buffer.from("491231235959Z").toString("hex")}`],
        ["a GeneralizedTime", time(Date.UTC(2050, 0, 1)), `180f${Buffer.from("20500101000000Z").toString("hex")}`],
    ])("writes %s", (_name, bytes, hex) => {
        expect(bytes.toString("hex")).toBe(hex);
    });
});

describe("createSelfSigned", () => {
    const names = ["antrea-agent", "localhost", "10.0.0.1", "::1", "fd00:1:2::5:6", "2001:db8::", "::ffff:1.2.3.4"];
    const notBeforeMs = Date.UTC(2026, 0, 1);
    const { cert, key } = createSelfSigned({ commonName: "antrea-agent", names, notBeforeMs, validMs: 86_400_000 });
    const parsed = new X509Certificate(cert);

    it("makes a certificate that is signed by its own key", () => {
        expect(parsed.verify(parsed.publicKey)).toBe(true);
        expect(parsed.checkIssued(parsed)).toBe(true);
        expect(parsed.checkPrivateKey(createPrivateKey(key))).toBe(true);
        expect(parsed.subject).toBe("CN=antrea-agent");
        expect(parsed.issuer).toBe("CN=antrea-agent");
        expect(parsed.ca).toBe(true);
        expect(parsed.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    });

    it("is valid for its time and its names only", () => {
        expect(parsed.validFromDate).toEqual(new Date(notBeforeMs));
        expect(parsed.validToDate).toEqual(new Date(notBeforeMs + 86_400_000));
        for (const name of names.slice(0, 2)) expect(parsed.checkHost(name)).toBe(name);
        for (const address of names.slice(2, 6)) expect(parsed.checkIP(address)).toBe(address);
        expect(parsed.subjectAltName).toContain("IP Address:0:0:0:0:0:FFFF:102:304");
        expect(parsed.checkHost("example.org")).toBeUndefined();
        expect(parsed.checkIP("10.0.0.2")).toBeUndefined();
    });

    it("has a serial number of its own each time, positive and at most 20 octets", () => {
        const other = new X509Certificate(
            createSelfSigned({ commonName: "x", names: ["x"], notBeforeMs, validMs: 1000 }).cert,
        );
        expect(other.serialNumber).not.toBe(parsed.serialNumber);
        expect(parsed.serialNumber).toMatch(/^01[0-9A-F]{36}$/);
    });
});

describe("createAuthority and createSigned", () => {
    const notBeforeMs = Date.UTC(2026, 0, 1);
    const validMs = 86_400_000;
    const authority = createAuthority({ commonName: "antrea-ca@1767225600", notBeforeMs, validMs });
    const other = createAuthority({ commonName: "antrea-ca@1767225600", notBeforeMs, validMs });
    const names = ["webhook.kube-system.svc", "localhost"];
    const served = createSigned({ commonName: "webhook", names, notBeforeMs, validMs }, authority);
    const ca = new X509Certificate(authority.cert);
    const leaf = new X509Certificate(served.cert);

    it("make an authority that signs itself and a leaf that only it has signed", () => {
        expect(ca.ca).toBe(true);
        expect(ca.verify(ca.publicKey)).toBe(true);
        expect(ca.subjectAltName).toBeUndefined();
        expect(leaf.ca).toBe(false);
        expect(leaf.subject).toBe("CN=webhook");
        expect(leaf.issuer).toBe("CN=antrea-ca@1767225600");
        expect(leaf.checkIssued(ca)).toBe(true);
        expect(leaf.verify(ca.publicKey)).toBe(true);
        expect(leaf.verify(new X509Certificate(other.cert).publicKey)).toBe(false);
        expect(leaf.checkPrivateKey(createPrivateKey(served.key))).toBe(true);
        expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
        expect(leaf.checkHost("webhook.kube-system.svc")).toBe("webhook.kube-system.svc");
    });

    it("distinguish the keys although the names are the same", () => {
        // The key identifiers differ, so the other one is not even a candidate.
        expect(leaf.checkIssued(new X509Certificate(other.cert))).toBe(false);
    });
});
