import { AntreaError } from "@antrea/errors";

/** `BAD_REVIEW`: the request body is not a valid AdmissionReview (admission.k8s.io/v1); the message names the field. */
export class ReviewError extends AntreaError<"BAD_REVIEW"> {}

/** The operation of an AdmissionRequest (admission.k8s.io/v1). */
export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** A JSON object; fields are validated where they are read. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The request of an AdmissionReview (admission.k8s.io/v1), as `decodeReview` decodes it. */
export interface AdmissionRequest {
    readonly uid: string;
    readonly kind: string;
    /** The API version of object and oldObject, `group/version`. */
    readonly apiVersion: string;
    /** The plural name of the kind that the request was sent to. */
    readonly resource: string;
    /** Empty for the object itself. */
    readonly subResource: string;
    /** Empty if the API server generates it (`generateName`). */
    readonly name: string;
    /** Empty for cluster-scoped objects. */
    readonly namespace: string;
    readonly operation: Operation;
    /** Undefined for DELETE. */
    readonly object: JsonObject | undefined;
    /** Undefined for CREATE; empty if the request has none. */
    readonly oldObject: JsonObject | undefined;
    /** The change will not be stored. */
    readonly dryRun: boolean;
}

/** The response to an AdmissionRequest; `encodeReview` encodes it. */
export interface Decision {
    /**
     * Absent: the request is allowed. `message` is text for users; `reason` that of the Status (`metav1.StatusReason`).
     */
    readonly refused?: { readonly message: string; readonly reason: "Invalid" | "Forbidden" };
    /**
     * For the person who sent the request, also if it is refused; short, without line breaks. Empty if there are none.
     */
    readonly warnings: readonly string[];
}

/** The decision that allows a request without warnings; shared, not to be modified. */
export const allowed: Decision = { warnings: [] };

const apiVersion = "admission.k8s.io/v1";
const operations: ReadonlySet<string> = new Set<Operation>(["CREATE", "UPDATE", "DELETE", "CONNECT"]);
const statusCodes = { Invalid: 422, Forbidden: 403 } as const;

/** Decodes the body of a request, parsed from JSON. Objects are not validated. Throws ReviewError BAD_REVIEW. */
export function decodeReview(body: unknown): AdmissionRequest {
    const review = objectAt(body, "the body");
    if (review.apiVersion !== apiVersion || review.kind !== "AdmissionReview") {
        throw bad(`apiVersion and kind must be ${apiVersion} and AdmissionReview`);
    }
    const request = objectAt(review.request, "request");
    const kind = objectAt(request.kind, "request.kind");
    const resource = objectAt(request.resource, "request.resource");
    const operation = textAt(request.operation, "request.operation");
    if (!operations.has(operation)) throw bad("request.operation must be CREATE, UPDATE, DELETE or CONNECT");
    const [group, version] = [
        optionalText(kind.group, "request.kind.group"),
        textAt(kind.version, "request.kind.version"),
    ];
    return {
        uid: textAt(request.uid, "request.uid"),
        kind: textAt(kind.kind, "request.kind.kind"),
        apiVersion: group === "" ? version : `${group}/${version}`,
        resource: textAt(resource.resource, "request.resource.resource"),
        subResource: optionalText(request.subResource, "request.subResource"),
        name: optionalText(request.name, "request.name"),
        namespace: optionalText(request.namespace, "request.namespace"),
        operation: operation as Operation,
        object: operation === "DELETE" ? undefined : objectAt(request.object, "request.object"),
        oldObject: operation === "CREATE" ? undefined : objectAt(request.oldObject ?? {}, "request.oldObject"),
        dryRun: request.dryRun === true,
    };
}

/**
 * The AdmissionReview (v1) with the response for the request of this uid, to be sent as JSON; a refusal has the status
 * code 422 (Invalid) or 403 (Forbidden).
 */
export function encodeReview(uid: string, { refused, warnings }: Decision): JsonObject {
    const response = {
        uid,
        allowed: refused === undefined,
        ...(refused !== undefined && {
            status: {
                status: "Failure",
                message: refused.message,
                reason: refused.reason,
                code: statusCodes[refused.reason],
            },
        }),
        ...(warnings.length > 0 && { warnings }),
    };
    return { apiVersion, kind: "AdmissionReview", response };
}

function objectAt(value: unknown, path: string): JsonObject {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
    throw bad(`${path} must be an object`);
}

function textAt(value: unknown, path: string): string {
    if (typeof value === "string" && value !== "") return value;
    throw bad(`${path} must be text`);
}

function optionalText(value: unknown, path: string): string {
    return value === undefined || value === "" ? "" : textAt(value, path);
}

function bad(rule: string): ReviewError {
    return new ReviewError("BAD_REVIEW", "remote", `this is no AdmissionReview: ${rule}`);
}
