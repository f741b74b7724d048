import { CniCallError, type CniCommand } from "@antrea/cni";
import { GrpcStatus } from "./http2/grpc-status.ts";

const nextStep =
    "The runtime asks again by itself. If it lasts, look at the antrea-agent Pod of this Node: " +
    "kubectl -n kube-system get pods -o wide, then kubectl -n kube-system logs <that Pod> -c antrea-agent";

/**
 * Returns the CNI error for a call of this command that ended with this gRPC status and message. UNAVAILABLE and
 * DEADLINE_EXCEEDED: `TRY_AGAIN_LATER`, for STATUS `PLUGIN_NOT_AVAILABLE`; UNIMPLEMENTED, from an agent of another
 * version: `INCOMPATIBLE_API_VERSION`; all others: `UNKNOWN_RPC_ERROR`.
 */
export function statusError(command: CniCommand, status: number, text: string): CniCallError {
    switch (status) {
        case GrpcStatus.UNAVAILABLE:
        case GrpcStatus.DEADLINE_EXCEEDED:
            // STATUS has a CNI error code for "cannot serve ADD".
            return new CniCallError(
                command === "STATUS" ? "PLUGIN_NOT_AVAILABLE" : "TRY_AGAIN_LATER",
                "environment",
                `the Antrea agent does not answer on this Node yet: ${text}`,
                { hint: nextStep },
            );
        case GrpcStatus.UNIMPLEMENTED:
            return new CniCallError(
                "INCOMPATIBLE_API_VERSION",
                "environment",
                `the Antrea agent on this Node does not support the command ${command}: ` +
                    `the CNI binary and the agent are of different versions (${text})`,
            );
        default:
            return new CniCallError(
                "UNKNOWN_RPC_ERROR",
                "remote",
                `the call of the Antrea agent failed with gRPC status ${status}: ${text}`,
            );
    }
}
