export {
    CniCalls,
    type AddedInterface,
    type CniBackend,
    type CniCallsComponents,
    type CniCommand,
    type ObserveCall,
} from "./calls.ts";
export { cniErrorCode } from "./error-code.ts";
export { CniServer } from "./server.ts";
