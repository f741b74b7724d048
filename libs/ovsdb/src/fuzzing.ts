/** What of this library reads bytes of others, behind its exports: for tools/fuzz only. */
export { RpcConnection } from "./session/rpc-connection.ts";
