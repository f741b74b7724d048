export { insertedUuid } from "./inserted-uuid.ts";
export { OvsdbServer, OvsdbServerError, vswitchSchema, type OvsdbServerOptions } from "./ovsdb-server.ts";
