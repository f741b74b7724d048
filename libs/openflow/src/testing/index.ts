export { frame, type FrameMacs, type Tuple } from "./frame.ts";
export {
    PrivateOvs,
    PrivateOvsError,
    type PrivateOvsOptions,
    type BridgeOptions,
    type PortOptions,
} from "./private-ovs.ts";
