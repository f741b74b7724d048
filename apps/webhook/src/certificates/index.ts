export { type AuthorityTimes } from "./authorities.ts";
export {
    CertificateKeeper,
    type CertificateComponents,
    type CertificateOptions,
    type CertificateTimes,
} from "./keeper.ts";
