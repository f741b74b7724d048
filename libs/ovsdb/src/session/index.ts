/** The session with an OVSDB server: copy of the monitored rows, transactions, lock, reconnect. */
export { OvsdbSession } from "./session.ts";
export { type RowChange } from "./cache.ts";
export {
    defaultSessionOptions,
    type CallOptions,
    type LockState,
    type OvsdbSessionComponents,
    type OvsdbSessionOptions,
    type SessionLogger,
    type UntilOptions,
} from "./options.ts";
