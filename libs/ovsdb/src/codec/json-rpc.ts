import { badMessage, member, readArray, readObject, readString } from "./reader.ts";

/**
 * A JSON-RPC 1.0 message (RFC 7047 section 4). An id is any JSON value except null; a response has null as `result` or
 * as `error`.
 */
export type RpcMessage =
    | { readonly kind: "request"; readonly id: unknown; readonly method: string; readonly params: readonly unknown[] }
    | { readonly kind: "notification"; readonly method: string; readonly params: readonly unknown[] }
    | { readonly kind: "response"; readonly id: unknown; readonly result: unknown; readonly error: unknown };

/**
 * Decodes a parsed message by its kind. A member that ovsdb-server omits from an answer (`result` with an error) is
 * null.
 *
 * @throws OvsdbError `BAD_MESSAGE`
 */
export function decodeRpcMessage(value: unknown): RpcMessage {
    const message = readObject(value, "message");
    const id = member(message, "id") ?? null;
    const method = member(message, "method");
    if (method !== undefined) {
        const name = readString(method, "method");
        const params = readArray(member(message, "params"), `params of ${JSON.stringify(name)}`);
        return id === null
            ? { kind: "notification", method: name, params }
            : { kind: "request", id, method: name, params };
    }
    if (id === null) throw badMessage("id", "must be given in an answer, and a request must have a method", value);
    const result = member(message, "result");
    const error = member(message, "error") ?? null;
    if (result === undefined && error === null) {
        throw badMessage("answer", "must have a result or an error", value);
    }
    return { kind: "response", id, result: result ?? null, error };
}

/** The JSON text of a request. Messages need no separator. */
export function encodeRequest(id: string | number, method: string, params: readonly unknown[]): string {
    return JSON.stringify({ id, method, params });
}

/** The JSON text of a notification: a request with a null id, which gets no answer. */
export function encodeNotification(method: string, params: readonly unknown[]): string {
    return JSON.stringify({ id: null, method, params });
}

/** The JSON text of a response to the request with this id; `result` is null if there is an `error`. */
export function encodeResponse(id: unknown, result: unknown, error: unknown = null): string {
    return JSON.stringify({ id, result, error });
}
