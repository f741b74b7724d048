import { X509Certificate } from "node:crypto";
import { sleep, systemClock, type Clock } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import {
    Informer,
    isKubeError,
    secrets,
    validatingWebhookConfigurations,
    type ApiClient,
    type Secret,
    type ValidatingWebhookConfiguration,
} from "@antrea/kube";
import { Jobs, type JobHealth, type LifecyclePart, type Logger, type MetricsFactory } from "@antrea/runtime";
import {
    bundleOf,
    decodeAuthorities,
    dueChange,
    encodeAuthorities,
    issuedAtMs,
    pemsOf,
    replaceAtMs,
    type Authorities,
    type AuthorityTimes,
} from "./authorities.ts";
import { createSigned, type Certificate } from "./certificate.ts";
import { allBundles, bundlePatch, commonBundle } from "./bundle.ts";

/** The authority or the bundle could not be written. */
class CertificateError extends AntreaError<"OVERTAKEN"> {}

export interface KeeperComponents {
    readonly api: Pick<ApiClient, "find" | "create" | "update" | "patch" | "list" | "watch">;
    readonly logger: Logger;
    readonly metrics: MetricsFactory;
    /** Shows this certificate to clients from now on. */
    show(certificate: Certificate): void;
    readonly clock?: Clock;
}

export interface CertificateTimes extends AuthorityTimes {
    /** How long a serving certificate is valid; it is replaced after two thirds of that. */
    readonly servingMs: number;
    /** How long a bundle must have been in the configuration before it is relied upon: every API server has it then. */
    readonly settleMs: number;
    /** How often it is looked whether something is due. */
    readonly checkMs: number;
}

export interface KeeperOptions {
    /** Where Secret and Service lie. */
    readonly namespace: string;
    /** The Service that clients reach this server by. */
    readonly service: string;
    /** The Secret with the authority. */
    readonly secret: string;
    /** The ValidatingWebhookConfiguration whose webhooks get the bundle. */
    readonly configuration: string;
    /** Default: `defaultTimes`. */
    readonly times?: CertificateTimes;
}

const dayMs = 86_400_000;

/** An authority for a year, serving certificates for 90 days; the authority before is trusted for one hour more. */
const defaultTimes: CertificateTimes = {
    authorityMs: 365 * dayMs,
    overlapMs: 3_600_000,
    servingMs: 90 * dayMs,
    settleMs: 5_000,
    checkMs: 60_000,
};

const maxTries = 10;

interface Serving {
    readonly certificate: Certificate;
    /** The certificate of the authority that signed it, PEM. */
    readonly authority: string;
}

/**
 * Keeps this replica's serving certificate and what its clients trust in step. All replicas do the same: the authority
 * lies in one Secret, written by compare-and-swap; the bundle of the webhook configuration is what the Secret says; each
 * replica has a serving certificate of its own, whose key never leaves the process.
 *
 * A new authority comes when the Secret is gone (deleting it is how a person asks for one), cannot be read, or two
 * thirds of the old one's time are over. It is trusted at once beside the old one; a replica shows a certificate of its
 * only when the bundle with both has settled; and the old one is trusted until the overlap is over, by when every
 * replica that has a connection to the API server shows a certificate of the new.
 */
export class CertificateKeeper {
    readonly part: LifecyclePart;
    readonly #jobs: Jobs;
    readonly #components: KeeperComponents;
    readonly #clock: Clock;
    readonly #options: KeeperOptions;
    readonly #times: CertificateTimes;
    // Monotonic time since when all webhooks have had this certificate in their bundle, by PEM.
    readonly #trustedSince = new Map<string, number>();
    // Those that were relied upon before somebody took them out: they are again as soon as they are back.
    readonly #reliedUpon = new Set<string>();
    #bundleProblem: string | undefined = "the webhook configuration is not read yet";
    #authority: string | undefined;
    #serving: Serving | undefined;

    constructor(components: KeeperComponents, options: KeeperOptions) {
        this.#components = components;
        this.#clock = components.clock ?? systemClock;
        this.#options = options;
        this.#times = options.times ?? defaultTimes;
        components.metrics.gauge<"certificate">({
            name: "antrea_webhook_certificate_expiry_timestamp_seconds",
            help: "When the certificate ends, in seconds since 1970.",
            labelNames: ["certificate"],
            collect: () => [
                ...expiry("authority", this.#authority),
                ...expiry("serving", this.#serving?.certificate.cert),
            ],
        });
        this.#jobs = new Jobs({ logger: components.logger, metrics: components.metrics, clock: this.#clock });
        this.part = this.#part();
    }

    /** How its background work is doing. */
    health(): readonly JobHealth[] {
        return this.#jobs.health();
    }

    /** Why clients may not trust this server; undefined when they do. A check for readiness. */
    problem(): string | undefined {
        if (this.#bundleProblem !== undefined) return this.#bundleProblem;
        if (this.#serving === undefined) return "there is no serving certificate yet";
        const { authority } = this.#serving;
        const settledInMs = this.#settledInMs(authority);
        if (settledInMs === Infinity) return "the CA bundle of the webhooks lacks the authority";
        if (settledInMs === 0 || this.#reliedUpon.has(authority.trim())) return undefined;
        return "the authority is not trusted for long enough yet";
    }

    /** One look at everything; brings it nearer to what it should be. Rejects if the API server cannot be asked. */
    async reconcile(signal: AbortSignal): Promise<void> {
        for (let tries = 1; ; tries += 1) {
            // The configuration is read first: if its bundle is newer than ours, so is the Secret that is read after.
            const configuration = await this.#readConfiguration(signal);
            const authorities = await this.#readAuthorities(configuration, signal);
            if (authorities !== undefined && (await this.#inject(configuration, authorities, signal))) {
                this.#authority = authorities.current.cert;
                return this.#serve(authorities.current);
            }
            // Another replica was faster; what it wrote is read again.
            if (tries >= maxTries) {
                const { secret, configuration: name } = this.#options;
                throw new CertificateError(
                    "OVERTAKEN",
                    "environment",
                    `Secret ${secret} or ValidatingWebhookConfiguration ${name} is changed by others all the time`,
                );
            }
            await sleep(20 * tries, signal, this.#clock);
        }
    }

    #part(): LifecyclePart {
        const { api, logger } = this.#components;
        const { namespace, secret, configuration } = this.#options;
        const jobs = this.#jobs;
        let timer: Disposable | undefined;
        const job = jobs.every("certificates", this.#times.checkMs, async (signal) => {
            await this.reconcile(signal);
            timer?.[Symbol.dispose]();
            const againMs = this.#settledInMs(this.#authority ?? "");
            if (againMs > 0 && againMs < Infinity) timer = this.#clock.after(againMs, () => job.trigger());
        });
        const watch = (name: string): string => `metadata.name=${name}`;
        const watched = [
            new Informer<Secret>({ api, logger }, { resource: secrets, namespace, fieldSelector: watch(secret) }),
            new Informer<ValidatingWebhookConfiguration>(
                { api, logger },
                { resource: validatingWebhookConfigurations, fieldSelector: watch(configuration) },
            ),
        ];
        return {
            name: "certificates",
            start: (signal) => {
                jobs.start(signal);
                for (const informer of watched) {
                    informer.onChange(() => job.trigger());
                    informer.start(signal);
                }
            },
            stop: async () => {
                timer?.[Symbol.dispose]();
                await Promise.all([jobs.stop(), ...watched.map((informer) => informer.close())]);
            },
        };
    }

    async #readConfiguration(signal: AbortSignal): Promise<ValidatingWebhookConfiguration | undefined> {
        const name = this.#options.configuration;
        const found = await this.#components.api.find(validatingWebhookConfigurations, { name }, { signal });
        this.#observe(found);
        return found;
    }

    /** What the Secret holds, after what was due about it; undefined when another replica wrote it meanwhile. */
    async #readAuthorities(
        configuration: ValidatingWebhookConfiguration | undefined,
        signal: AbortSignal,
    ): Promise<Authorities | undefined> {
        const { api, logger } = this.#components;
        const { namespace, secret: name } = this.#options;
        const secret = await api.find(secrets, { namespace, name }, { signal });
        const found = secret === undefined ? undefined : decodeAuthorities(secret);
        const trusted = configuration === undefined ? "" : allBundles(configuration);
        const due = dueChange(found, trusted, this.#clock.now(), this.#times);
        if (due === undefined) return found as Authorities;
        const { resourceVersion } = secret?.metadata ?? {};
        const object: Secret = {
            ...(secret?.type !== undefined && { type: secret.type }),
            metadata: {
                namespace,
                name,
                labels: { "app.kubernetes.io/name": "antrea", "app.kubernetes.io/component": "antrea-webhook" },
                ...(resourceVersion !== undefined && { resourceVersion }),
            },
            data: encodeAuthorities(due.authorities),
        };
        try {
            if (secret === undefined) await api.create(secrets, object, { signal });
            else await api.update(secrets, object, { signal });
        } catch (error) {
            if (overtaken(error, "CONFLICT", "ALREADY_EXISTS", "NOT_FOUND")) return undefined;
            throw error;
        }
        const problem = found !== undefined && "problem" in found ? found.problem : undefined;
        logger.info("wrote the authority", { secret: `${namespace}/${name}`, reason: due.reason, problem });
        return due.authorities;
    }

    /** False when the configuration was changed meanwhile. */
    async #inject(
        configuration: ValidatingWebhookConfiguration | undefined,
        authorities: Authorities,
        signal: AbortSignal,
    ): Promise<boolean> {
        const bundle = bundleOf(authorities);
        if (configuration === undefined || commonBundle(configuration) === bundle) return true;
        const { api, logger } = this.#components;
        const name = this.#options.configuration;
        const patch = { type: "json", body: bundlePatch(configuration, bundle) } as const;
        try {
            const patched = await api.patch(validatingWebhookConfigurations, { name }, patch, { signal });
            this.#observe(patched);
        } catch (error) {
            if (overtaken(error, "CONFLICT", "INVALID", "NOT_FOUND")) return false;
            throw error;
        }
        const count = 1 + authorities.previous.length;
        logger.info("wrote the CA bundle", { configuration: name, certificates: count });
        return true;
    }

    /** Notes what the clients trust. */
    #observe(configuration: ValidatingWebhookConfiguration | undefined): void {
        const webhooks = configuration?.webhooks?.length ?? 0;
        this.#bundleProblem =
            webhooks > 0
                ? undefined
                : `ValidatingWebhookConfiguration ${this.#options.configuration} is missing or has no webhooks`;
        const trusted = new Set(configuration === undefined ? [] : pemsOf(commonBundle(configuration)));
        for (const cert of this.#trustedSince.keys()) {
            if (trusted.has(cert)) continue;
            if (this.#settledInMs(cert) === 0) this.#reliedUpon.add(cert);
            this.#trustedSince.delete(cert);
        }
        for (const cert of trusted) {
            if (!this.#trustedSince.has(cert)) this.#trustedSince.set(cert, this.#clock.monotonic());
        }
    }

    /** How long until the certificate can be relied upon to be trusted: 0 is now, infinite when it is in no bundle. */
    #settledInMs(cert: string): number {
        const since = this.#trustedSince.get(cert.trim());
        return since === undefined ? Infinity : Math.max(0, since + this.#times.settleMs - this.#clock.monotonic());
    }

    #serve(current: Certificate): void {
        const { logger, show } = this.#components;
        const serving = this.#serving;
        const now = this.#clock.now();
        if (serving !== undefined) {
            const shown = new X509Certificate(serving.certificate.cert);
            if (serving.authority === current.cert) {
                if (now < replaceAtMs(shown)) return;
            } else {
                // What is shown is better than what is not trusted yet, as long as it is trusted itself.
                const good = this.#settledInMs(serving.authority) < Infinity && now < shown.validToDate.getTime();
                if (good && this.#settledInMs(current.cert) > 0) return;
            }
        }
        const certificate = this.#issue(current, now);
        show(certificate);
        this.#serving = { certificate, authority: current.cert };
        const { serialNumber, issuer, validTo } = new X509Certificate(certificate.cert);
        logger.info("serving certificate rotated", { serialNumber, issuer, validTo });
    }

    #issue(authority: Certificate, nowMs: number): Certificate {
        const { service, namespace } = this.#options;
        const host = `${service}.${namespace}.svc`;
        const cert = new X509Certificate(authority.cert);
        const notBeforeMs = nowMs - (issuedAtMs(cert) - cert.validFromDate.getTime());
        // It cannot outlive who signed it.
        const endMs = Math.min(nowMs + this.#times.servingMs, cert.validToDate.getTime());
        return createSigned(
            {
                commonName: service,
                names: [host, `${host}.cluster.local`, "localhost", "127.0.0.1", "::1"],
                notBeforeMs,
                validMs: endMs - notBeforeMs,
            },
            authority,
        );
    }
}

function overtaken(error: unknown, ...codes: Parameters<typeof isKubeError>[1][]): boolean {
    return isKubeError(error) && (codes.includes(error.code) || error.outcomeUnknown);
}

function expiry(
    certificate: string,
    pem: string | undefined,
): readonly { labels: { certificate: string }; value: number }[] {
    if (pem === undefined) return [];
    return [{ labels: { certificate }, value: new X509Certificate(pem).validToDate.getTime() / 1000 }];
}
