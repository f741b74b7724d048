import { badMessage, member, readArray, readObject, readString } from "./reader.ts";

/** A JSON-RPC 1.0 message (RFC 7047 section 4). Ids are any JSON value except null. */
export type RpcMessage =
    | { readonly kind: "request"; readonly id: unknown; readonly method: string; readonly params: readonly unknown[] }
    | { readonly kind: "notification"; readonly method: string; readonly params: readonly unknown[] }
    | { readonly kind: "response"; readonly id: unknown; readonly result: unknown; readonly error: unknown };

/**
 * Tells what kind of message a parsed object is. Members that ovsdb-server leaves out of an answer (`result` beside an
 * error) count as null.
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

export function encodeRequest(id: string | number, method: string, params: readonly unknown[]): string {
    return JSON.stringify({ id, method, params });
}

export function encodeNotification(method: string, params: readonly unknown[]): string {
    return JSON.stringify({ id: null, method, params });
}

export function encodeResponse(id: unknown, result: unknown, error: unknown = null): string {
    return JSON.stringify({ id, result, error });
}
