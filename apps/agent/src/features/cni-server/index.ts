export {
    CniCalls,
    type Attachment,
    type CniBackend,
    type CniCallsComponents,
    type CniCommand,
    type ObserveCall,
    type WiredAddress,
    type WiredInterface,
} from "./calls.ts";
export { CniServer } from "./server.ts";
