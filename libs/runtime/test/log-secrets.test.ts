import { describe, expect, it } from "@jest/globals";
import { hideSecrets, isSecretName } from "../src/log-secrets.ts";

const word = "PRIVATE KEY";
const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl";

describe("hideSecrets", () => {
    it.each([
        ["a key", `a -----BEGIN ${word}-----\nMIIabc\n-----END ${word}----- b`, "a (hidden) b"],
        ["a truncated key", `a -----BEGIN RSA ${word}-----\nMIIabc`, "a (hidden)"],
        ["a truncated key before text with a hyphen", `-----BEGIN ${word}-----MIIabc of pod web-0 failed`, "(hidden)"],
        [
            "a key with headers",
            `-----BEGIN RSA ${word}-----\nProc-Type: 4,ENCRYPTED\n\nMII\n-----END RSA ${word}-----\nb`,
            "(hidden)\nb",
        ],
        [
            "one of two keys, and what is between them",
            `-----BEGIN ${word}-----a-----END ${word}----- and -----BEGIN ${word}-----b-----END ${word}-----`,
            "(hidden) and (hidden)",
        ],
        ["PEM in base64", "data: LS0tLS1CRUdJTiBSU0E= end", "data: (hidden) end"],
        ["a JWT", `token is ${jwt}, it seems`, "token is (hidden), it seems"],
        ["HTTP credentials", "Bearer abcdefghijklmnopqrstuvwxyz was refused", "Bearer (hidden) was refused"],
        ["a header", 'authorization: "Basic dXNlcjpwYXNz"', 'authorization: "(hidden)"'],
        ["a field of YAML", "password: hunter2 of user a", "password: (hidden) of user a"],
        ["a field of JSON", '{"token":"opaque","user":"a"}', '{"token":"(hidden)","user":"a"}'],
        ["escaped JSON", '{\\"token\\":\\"opaque\\"}', '{\\"token\\":\\"(hidden)\\"}'],
        ["a longer name with _", "access_token=opaque&user=a", "access_token=(hidden)"],
        ["a longer name", "accessToken: opaque", "accessToken: (hidden)"],
    ])("hides %s", (_name, text, shown) => {
        expect(hideSecrets(text)).toBe(shown);
    });

    it.each(["10.0.0.1 of Pod default/web-0", "a password is missing", "the token has expired", "eyJ"])(
        "leaves: %s",
        (text) => {
            expect(hideSecrets(text)).toBe(text);
        },
    );
});

it.each([
    ["token", true],
    ["Authorization", true],
    ["tls.key", true],
    ["tokens", false],
    ["pod", false],
])("a field named %s holds a secret: %s", (name, holds) => {
    expect(isSecretName(name)).toBe(holds);
});
