/** Internals that read received bytes, for tools/fuzz only. */
export { RpcConnection } from "./session/rpc-connection.ts";
