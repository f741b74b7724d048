export {
    PrivateOvs,
    PrivateOvsError,
    type PrivateOvsOptions,
    type BridgeOptions,
    type PortOptions,
} from "./private-ovs.ts";
