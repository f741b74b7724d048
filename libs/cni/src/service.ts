import { type CniCmdRequest, type CniCmdResponse } from "./messages.ts";
import { decodeCniCmdRequest, encodeCniCmdRequest } from "./wire/request.ts";
import { decodeCniCmdResponse, encodeCniCmdResponse } from "./wire/response.ts";

const cniServiceName = "antrea_io.antrea.pkg.apis.cni.v1beta1.Cni";

/** Name of a method of the CNI service. */
export type CniMethodName = "CmdAdd" | "CmdCheck" | "CmdDel" | "CmdStatus" | "CmdGc";

/**
 * One unary method of the service for a gRPC library: its path and the codecs of its messages, over plain byte arrays.
 * The two `deserialize` functions throw `CniMessageError` and return views of the bytes.
 */
export interface CniMethod {
    /** The `:path` of the call. */
    readonly path: string;
    readonly requestStream: false;
    readonly responseStream: false;
    readonly requestSerialize: (request: CniCmdRequest) => Uint8Array;
    readonly requestDeserialize: (bytes: Uint8Array) => CniCmdRequest;
    readonly responseSerialize: (response: CniCmdResponse) => Uint8Array;
    readonly responseDeserialize: (bytes: Uint8Array) => CniCmdResponse;
}

function method(name: CniMethodName): CniMethod {
    return {
        path: cniMethodPath(name),
        requestStream: false,
        responseStream: false,
        requestSerialize: encodeCniCmdRequest,
        requestDeserialize: decodeCniCmdRequest,
        responseSerialize: encodeCniCmdResponse,
        responseDeserialize: decodeCniCmdResponse,
    };
}

/** The `:path` of a method: `/antrea_io.antrea.pkg.apis.cni.v1beta1.Cni/CmdAdd`. */
export function cniMethodPath(name: CniMethodName): string {
    return `/${cniServiceName}/${name}`;
}

/**
 * The methods of the service. `CmdAdd`, `CmdCheck` and `CmdDel` are those of Antrea's cni.proto; `CmdStatus` and
 * `CmdGc` are extensions of this project for the commands of CNI 1.1, with the same messages. It has the shape of a
 * `ServiceDefinition` of @grpc/grpc-js, except that grpc-js requires a Buffer from the two `serialize` functions: wrap
 * those with `Buffer.from(bytes.buffer, …)`.
 */
export const cniServiceDefinition: Readonly<Record<CniMethodName, CniMethod>> = {
    CmdAdd: method("CmdAdd"),
    CmdCheck: method("CmdCheck"),
    CmdDel: method("CmdDel"),
    CmdStatus: method("CmdStatus"),
    CmdGc: method("CmdGc"),
};
