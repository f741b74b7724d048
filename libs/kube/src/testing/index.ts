export { eventually } from "./eventually.ts";
export { kubeProxyConfig } from "./kube-proxy.ts";
export { freePort, freePorts, Program, programPath, TestApiServerError } from "./programs.ts";
export { TestApiServer, type TestApiServerOptions, type TestNodeOptions } from "./test-api-server.ts";
export { networkDefinitionsCrd } from "./network-definitions.ts";
