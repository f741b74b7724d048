/** Keeps a webhook's certificate, and what the API server trusts, in step across replicas. */
export { CertificateKeeper, type CertificateTimes } from "./keeper.ts";
