export { type AuthorityTimes } from "./authorities.ts";
export {
    CertificateKeeper,
    defaultTimes,
    type CertificateComponents,
    type CertificateOptions,
    type CertificateTimes,
} from "./keeper.ts";
