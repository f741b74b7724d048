export { eventually } from "./eventually.ts";
export { freePort, TestApiServerError } from "./programs.ts";
export { TestApiServer, type TestApiServerOptions, type TestNodeOptions } from "./test-api-server.ts";
