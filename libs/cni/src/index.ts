export { parseCniArgs, type CniArgs } from "./cni-args.ts";
export { checkAttachment, parseEnvironment, type Invocation } from "./environment.ts";
export { ErrorCode, type ErrorCodeName } from "./error-code.ts";
export { toErrorObject, type CniErrorObject } from "./error-object.ts";
export { CniCallError, toCniError } from "./errors.ts";
export { isJsonObject, JsonReader, type JsonObject } from "./json-object.ts";
export { type Any, type CniCmdArgs, type CniCmdRequest, type CniCmdResponse, type CniError } from "./messages.ts";
export {
    parseNetworkConfig,
    peekCniVersion,
    type Attachment,
    type IpamConfig,
    type NetworkConfig,
    type ParseNetworkConfigOptions,
} from "./network-config.ts";
export { ifnameFault } from "./names.ts";
export { CniResultError, convertResult, encodeResult, type ConvertedResult } from "./result-convert.ts";
export { parsed } from "./parsed.ts";
export { parseDns, parseResult, parseRoute, routeDestination, type ParseResultOptions } from "./result-parse.ts";
export { type CniDns, type CniInterface, type CniIp, type CniResult, type CniRoute } from "./result.ts";
export { cniMethodPath, cniServiceDefinition, type CniMethod, type CniMethodName } from "./service.ts";
export { shown } from "./shown.ts";
export { detailText, textDetail } from "./text-detail.ts";
export {
    checkCommandVersion,
    checkVersion,
    currentVersion,
    isAtLeast,
    supportedVersions,
    versionAnswer,
    type CniCommand,
    type CniVersion,
} from "./versions.ts";
export { CniMessageError } from "./wire/error.ts";
export { decodeCniCmdRequest, encodeCniCmdRequest } from "./wire/request.ts";
export { decodeCniCmdResponse, encodeCniCmdResponse } from "./wire/response.ts";
