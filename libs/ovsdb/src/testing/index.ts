export { OvsdbServer, OvsdbServerError, vswitchSchema, type OvsdbServerOptions } from "./ovsdb-server.ts";
