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

/** The authority or the bundle could not be written: other writers were always faster. */
class CertificateError extends AntreaError<"OVERTAKEN"> {}

/** Dependencies of CertificateKeeper. It declares the metric `antrea_webhook_certificate_expiry_timestamp_seconds`. */
export interface KeeperComponents {
    readonly api: Pick<ApiClient, "find" | "create" | "update" | "patch" | "list" | "watch">;
    readonly logger: Logger;
    readonly metrics: MetricsFactory;
    /** Uses this certificate for new connections from now on. */
    show(certificate: Certificate): void;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/** Lifetimes and intervals of certificates, in milliseconds. */
export interface CertificateTimes extends AuthorityTimes {
    /** Validity of a serving certificate; it is replaced after two thirds of it. */
    readonly servingMs: number;
    /** How long a bundle must have been in the configuration until every API server is assumed to use it. */
    readonly settleMs: number;
    /** Interval at which changes that are due are searched. */
    readonly checkMs: number;
}

/** Names of the objects that CertificateKeeper maintains. */
export interface KeeperOptions {
    /** Namespace of the Secret and the Service. */
    readonly namespace: string;
    /** The Service by which clients reach this server. */
    readonly service: string;
    /** The Secret that holds the authority. */
    readonly secret: string;
    /** The ValidatingWebhookConfiguration whose webhooks get the CA bundle. */
    readonly configuration: string;
    /** Default: authority 365 days, overlap 1 h, serving certificate 90 days, settle 5 s, check every minute. */
    readonly times?: CertificateTimes;
}

const dayMs = 86_400_000;

/**
 * Authority valid for a year, serving certificates for 90 days; the previous authority remains trusted for one hour.
 */
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
 * Keeps the serving certificate of this replica and the CA bundle of its clients consistent; `part` runs it. All
 * replicas do: the authority is in one Secret, written by compare-and-swap; the CA bundle of the webhook configuration
 * follows the Secret; each replica has a serving certificate of its own, whose key never leaves the process.
 *
 * A new authority is created when the Secret is missing (deleting it requests a new one), is not valid, or two thirds
 * of the old one's validity are over. It is trusted at once beside the old one; a replica serves a certificate of it
 * only after the bundle with both has settled. The old one is trusted until the overlap is over, by when every replica
 * with a connection to the API server serves a certificate of the new one.
 */
export class CertificateKeeper {
    /**
     * Part of the program's Lifecycle that runs the background work. Its start does not wait for a certificate; see
     * `problem`.
     */
    readonly part: LifecyclePart;
    readonly #jobs: Jobs;
    readonly #components: KeeperComponents;
    readonly #clock: Clock;
    readonly #options: KeeperOptions;
    readonly #times: CertificateTimes;
    // By PEM: monotonic time since when all webhooks have had this certificate in their bundle.
    readonly #trustedSince = new Map<string, number>();
    // Settled certificates that were removed from the bundle by others: they count as settled as soon as they are back.
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

    /** Returns the status of its background jobs. */
    health(): readonly JobHealth[] {
        return this.#jobs.health();
    }

    /** Returns why clients may not trust this server, in one line; undefined if they do. For a readiness check. */
    problem(): string | undefined {
        if (this.#bundleProblem !== undefined) return this.#bundleProblem;
        if (this.#serving === undefined) return "there is no serving certificate yet";
        const { authority } = this.#serving;
        const settledInMs = this.#settledInMs(authority);
        if (settledInMs === Infinity) return "the CA bundle of the webhooks lacks the authority";
        if (settledInMs === 0 || this.#reliedUpon.has(authority.trim())) return undefined;
        return "the authority is not trusted for long enough yet";
    }

    /**
     * Compares Secret, CA bundle and serving certificate with what is due, and changes what differs; `part` calls it in
     * a job. Rejects with KubeError of the API server, AsyncError `ABORTED`, or an AntreaError `OVERTAKEN` if other
     * writers were faster at each of ten tries.
     */
    async reconcile(signal: AbortSignal): Promise<void> {
        for (let tries = 1; ; tries += 1) {
            // The configuration is read first: if its bundle is newer than ours, so is the Secret that is read after.
            const configuration = await this.#readConfiguration(signal);
            const authorities = await this.#readAuthorities(configuration, signal);
            if (authorities !== undefined && (await this.#inject(configuration, authorities, signal))) {
                this.#authority = authorities.current.cert;
                return this.#serve(authorities.current);
            }
            // Another replica was faster; what it wrote is read.
            if (tries >= maxTries) {
                const { secret, configuration: name } = this.#options;
                throw new CertificateError(
                    "OVERTAKEN",
                    "environment",
                    `Secret ${secret} or ValidatingWebhookConfiguration ${name} is changed by other writers at each try`,
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

    /** Returns the authorities after the due change; undefined if another replica wrote the Secret meanwhile. */
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

    /** Writes the CA bundle. Returns false if the configuration was changed meanwhile. */
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

    /** Records what the clients trust. */
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

    /** Milliseconds until the certificate counts as trusted: 0 if it does now, Infinity if it is in no bundle. */
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
                // The current certificate is kept while it is trusted and the new authority is not yet.
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
        // Its validity must not exceed that of its authority.
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
