import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { systemClock, type Clock } from "@antrea/async";
import { ForwardClock } from "@antrea/async/testing";
import { secrets, validatingWebhookConfigurations, type ApiClient, type Secret } from "@antrea/kube";
import { TestApiServer, eventually } from "@antrea/kube/testing";
import { Metrics } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { CertificateKeeper, type CertificateTimes } from "../../src/certificates/index.ts";
import { type Certificate } from "../../src/index.ts";
import { newAuthority, pemsOf } from "../../src/certificates/authorities.ts";

const namespace = "kube-system";
const secretName = "antrea-webhook-ca";
const configuration = "antrea";
const quick: CertificateTimes = {
    authorityMs: 86_400_000,
    overlapMs: 600_000,
    servingMs: 3_600_000,
    settleMs: 500,
    checkMs: 200,
};

let server: TestApiServer;
let api: ApiClient;

beforeAll(async () => {
    server = await TestApiServer.start();
    api = server.clients().api;
});
afterAll(async () => server.stop());

/** What the chart installs: webhooks without a bundle. */
function webhooks(): object {
    const webhook = (name: string): object => ({
        name,
        clientConfig: { service: { name: "antrea-webhook", namespace, path: "/validate/x" } },
        rules: [{ apiGroups: ["example.org"], apiVersions: ["*"], resources: ["*"], operations: ["CREATE"] }],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
    });
    return { metadata: { name: configuration }, webhooks: [webhook("a.antrea.io"), webhook("b.antrea.io")] };
}

beforeEach(async () => {
    await api.delete(secrets, { namespace, name: secretName }).catch(() => undefined);
    await api.delete(validatingWebhookConfigurations, { name: configuration }).catch(() => undefined);
    await api.create(validatingWebhookConfigurations, webhooks());
});

class Replica implements AsyncDisposable {
    readonly keeper: CertificateKeeper;
    readonly shown: Certificate[] = [];
    readonly log = new MemoryLog();
    readonly metrics = new Metrics({ processMetrics: false });
    readonly #stop = new AbortController();

    constructor(times: CertificateTimes = quick, clock: Clock = systemClock) {
        this.keeper = new CertificateKeeper(
            {
                api: server.clients().api,
                logger: this.log.logger,
                metrics: this.metrics,
                clock,
                show: (certificate) => void this.shown.push(certificate),
            },
            { namespace, service: "antrea-webhook", secret: secretName, configuration, times },
        );
    }

    static async start(times?: CertificateTimes, clock?: Clock): Promise<Replica> {
        const replica = new Replica(times, clock);
        await replica.keeper.part.start?.(replica.#stop.signal);
        return replica;
    }

    get cert(): X509Certificate | undefined {
        const { cert } = this.shown.at(-1) ?? {};
        return cert === undefined ? undefined : new X509Certificate(cert);
    }

    async ready(): Promise<void> {
        await eventually(() => this.keeper.problem() === undefined, { timeoutMs: 60_000, what: "readiness" });
    }

    async [Symbol.asyncDispose](): Promise<void> {
        this.#stop.abort();
        await this.keeper.part.stop?.();
    }
}

/** The bundles of both webhooks, each as a list of certificates. */
async function bundles(): Promise<readonly (readonly X509Certificate[])[]> {
    const found = await api.get(validatingWebhookConfigurations, { name: configuration });
    return (found.webhooks ?? []).map(({ clientConfig }) =>
        pemsOf(Buffer.from(clientConfig.caBundle ?? "", "base64").toString()).map((pem) => new X509Certificate(pem)),
    );
}

function trusts(bundle: readonly X509Certificate[], cert: X509Certificate): boolean {
    return bundle.some((ca) => cert.checkIssued(ca) && cert.verify(ca.publicKey));
}

/** Checks continuously that the certificates of the replicas are trusted. */
async function watchTrust(replicas: readonly Replica[], until: Promise<unknown>): Promise<number> {
    let over = false;
    let checks = 0;
    void until.finally(() => (over = true)).catch(() => undefined);
    while (!over) {
        const before = replicas.map(({ cert }) => cert as X509Certificate);
        const trusted = await bundles();
        expect(trusted.length).toBe(2);
        // One that was replaced meanwhile may have been in use no more when the bundle was read.
        const after = new Set(replicas.map(({ cert }) => cert?.fingerprint256));
        const shown = before.filter(({ fingerprint256 }) => after.has(fingerprint256));
        for (const bundle of trusted) for (const cert of shown) expect(trusts(bundle, cert)).toBe(true);
        checks += 1;
    }
    await until;
    return checks;
}

describe("the certificates of several replicas", () => {
    it("come from one authority, whoever is first, and are trusted by all webhooks", async () => {
        await using a = await Replica.start();
        await using b = await Replica.start();
        await using c = await Replica.start();
        const replicas = [a, b, c];
        await Promise.all(replicas.map((replica) => replica.ready()));
        const [one = [], two = []] = await bundles();
        expect(one).toHaveLength(1);
        expect(two.map(({ fingerprint256 }) => fingerprint256)).toEqual(one.map((cert) => cert.fingerprint256));
        for (const { cert } of replicas) {
            expect(trusts(one, cert as X509Certificate)).toBe(true);
            expect(cert?.checkHost("antrea-webhook.kube-system.svc")).toBe("antrea-webhook.kube-system.svc");
            expect(cert?.checkHost("antrea-webhook.kube-system.svc.cluster.local")).toBeDefined();
        }
        expect(new Set(replicas.map(({ cert }) => cert?.fingerprint256)).size).toBe(3);
        const wrote = replicas
            .flatMap(({ log }) => log.messages("info"))
            .filter((text) => text === "wrote the authority");
        expect(wrote).toHaveLength(1);
        expect(await a.metrics.text()).toMatch(
            /certificate_expiry_timestamp_seconds\{certificate="authority"\} 1\d{9}/,
        );
    });

    it("rotate without a gap when the Secret is deleted, and forget the old authority after the overlap", async () => {
        const clock = new ForwardClock();
        await using a = await Replica.start(quick, clock);
        await using b = await Replica.start(quick, clock);
        const replicas = [a, b];
        await Promise.all(replicas.map((replica) => replica.ready()));
        const [[old] = []] = await bundles();
        await api.delete(secrets, { namespace, name: secretName });
        const done = (async () => {
            await eventually(() => replicas.every(({ shown }) => shown.length === 2));
            expect((await bundles()).map((bundle) => bundle.length)).toEqual([2, 2]);
            clock.skip(quick.overlapMs);
            await eventually(async () => {
                const [bundle = []] = await bundles();
                const [ca] = bundle;
                if (ca === undefined || bundle.length !== 1 || ca.fingerprint256 === old?.fingerprint256) return false;
                return replicas.every(({ cert }) => cert?.checkIssued(ca));
            });
        })();
        expect(await watchTrust(replicas, done)).toBeGreaterThan(0);
        expect(replicas.map(({ shown }) => shown.length)).toEqual([2, 2]);
        expect(replicas.map(({ keeper }) => keeper.problem())).toEqual([undefined, undefined]);
    });

    it("rotate in time, again and again, also with replicas that come and go", async () => {
        // An authority every six seconds, a serving certificate every two or three. What a replica does within the overlap
        // takes it half a second; the rest is for a busy machine.
        const times = { ...quick, authorityMs: 9_000, overlapMs: 5_000, servingMs: 4_000, settleMs: 300 };
        await using a = await Replica.start(times);
        await a.ready();
        const seen = new Set<string>();
        const done = eventually(
            async () => {
                for (const cert of (await bundles()).flat()) seen.add(cert.fingerprint256);
                return seen.size >= 4;
            },
            { timeoutMs: 120_000 },
        );
        const visitors = (async () => {
            for (let visit = 0; visit < 3; visit += 1) {
                await using visitor = await Replica.start(times);
                await visitor.ready();
            }
        })();
        await watchTrust([a], done);
        await visitors;
        expect(a.shown.length).toBeGreaterThan(4);
    });

    it("are mended when a helm upgrade or a person takes the bundle away or writes another", async () => {
        const clock = new ForwardClock();
        const patient = { ...quick, settleMs: 600_000 };
        await using a = await Replica.start(patient, clock);
        await using b = await Replica.start(patient, clock);
        await eventually(() => [a, b].every(({ keeper }) => keeper.problem()?.includes("not trusted for long enough")));
        clock.skip(patient.settleMs);
        await Promise.all([a.ready(), b.ready()]);
        const [before = []] = await bundles();
        const found = await api.get(validatingWebhookConfigurations, { name: configuration });
        const bare = (found.webhooks ?? []).map(({ clientConfig: { caBundle: _, ...rest }, ...webhook }) => ({
            ...webhook,
            clientConfig: rest,
        }));
        await api.update(validatingWebhookConfigurations, { ...found, webhooks: bare });
        const mended = async (): Promise<boolean> => {
            const now = await bundles();
            return now.length === 2 && now.every(([ca]) => ca?.fingerprint256 === before[0]?.fingerprint256);
        };
        await eventually(mended);
        const stranger = Buffer.from(newAuthority(Date.now(), quick).cert).toString("base64");
        await api.patch(
            validatingWebhookConfigurations,
            { name: configuration },
            { type: "json", body: [{ op: "replace", path: "/webhooks/1/clientConfig/caBundle", value: stranger }] },
        );
        await eventually(mended);
        // Nobody waits again for what was trusted before.
        await Promise.all([a.ready(), b.ready()]);
        // Deleted and made again, as by an uninstall and an install.
        await api.delete(validatingWebhookConfigurations, { name: configuration });
        await eventually(() => a.keeper.problem()?.includes("is missing"));
        await api.create(validatingWebhookConfigurations, webhooks());
        await eventually(mended);
        await Promise.all([a.ready(), b.ready()]);
        expect([a.shown.length, b.shown.length]).toEqual([1, 1]);
    });

    it("survive a Secret that somebody else wrote to", async () => {
        const broken: Secret = { metadata: { namespace, name: secretName }, data: { "ca.crt": "AAAA" } };
        await api.create(secrets, broken);
        await using a = await Replica.start();
        await a.ready();
        await api.patch(
            secrets,
            { namespace, name: secretName },
            { type: "merge", body: { data: { "ca.key": "AAAA" } } },
        );
        const done = eventually(() => a.shown.length === 2);
        await watchTrust([a], done);
    });

    it("wait for a webhook configuration that is not there yet", async () => {
        await api.delete(validatingWebhookConfigurations, { name: configuration });
        await using a = await Replica.start();
        await eventually(() => a.shown.length === 1);
        expect(a.keeper.problem()).toContain("ValidatingWebhookConfiguration antrea is missing");
        await api.create(validatingWebhookConfigurations, webhooks());
        await a.ready();
        expect(a.shown).toHaveLength(1);
    });
});
