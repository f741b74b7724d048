/** Serving certificates of a webhook, and the CA bundle that the API server trusts, kept consistent across replicas. */
export { CertificateKeeper, type CertificateTimes } from "./keeper.ts";
