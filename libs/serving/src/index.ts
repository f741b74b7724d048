export {
    createAuthority,
    createSelfSigned,
    createSigned,
    type Certificate,
    type CertificateOptions,
    type ServingOptions,
} from "./certificates/certificate.ts";
export { type Check, type CheckKind, type CheckResult } from "./daemon/checks.ts";
export { probePortFrom } from "./daemon/probe-listener.ts";
export { DaemonServer, type DaemonServerComponents, type DaemonServerOptions } from "./daemon/server.ts";
export { ServingError, type ServingErrorCode } from "./errors.ts";
export { HttpServer, type HttpComponents, type HttpOptions, type HttpPlace } from "./http/server.ts";
