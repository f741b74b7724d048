export {
    CniCalls,
    type AddedInterface,
    type CniBackend,
    type CniCallsComponents,
    type CniCommand,
    type ObserveCall,
} from "./calls.ts";
export { Conflist } from "./conflist/index.ts";
export { cniErrorCode } from "./error-code.ts";
export { leavesForGoodMs } from "./leaves-for-good.ts";
export { CniServer } from "./server.ts";
