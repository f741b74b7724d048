import type { ServiceObject, SliceObject } from "@antrea/services";

/** Whether a value of JSON has a shape. */
type Shape = (value: unknown) => boolean;

/** What a line of the journal has of an EndpointSlice: the rest of its metadata comes from its Service. */
export interface StoredSlice extends Pick<SliceObject, "addressType" | "endpoints" | "ports"> {
    readonly name: string;
}

const isText: Shape = (value) => typeof value === "string";
const isFlag: Shape = (value) => typeof value === "boolean";
const isWhole: Shape = (value) => Number.isInteger(value);
const isName: Shape = (value) => typeof value === "string" && value !== "" && !value.includes("/");

function listOf(shape: Shape): Shape {
    return (value) => Array.isArray(value) && value.every(shape);
}

const isTexts = listOf(isText);
const isTextByName: Shape = (value) => isRecord(value) && Object.values(value).every(isText);

/** An object with all required fields, and no others but the optional ones. */
function fields(required: Readonly<Record<string, Shape>>, optional: Readonly<Record<string, Shape>> = {}): Shape {
    const shapes = new Map(Object.entries({ ...required, ...optional }));
    const names = Object.keys(required);
    return (value) =>
        isRecord(value) &&
        names.every((name) => Object.hasOwn(value, name)) &&
        Object.entries(value).every(([name, part]) => shapes.get(name)?.(part) === true);
}

const servicePort = fields({ port: isWhole }, { name: isText, protocol: isText, nodePort: isWhole });
const service = fields(
    {
        metadata: fields(
            { name: isName, namespace: isName },
            { uid: isText, creationTimestamp: isText, labels: isTextByName, annotations: isTextByName },
        ),
    },
    {
        spec: fields(
            {},
            {
                type: isText,
                clusterIP: isText,
                clusterIPs: isTexts,
                externalIPs: isTexts,
                ports: listOf(servicePort),
                internalTrafficPolicy: isText,
                externalTrafficPolicy: isText,
                sessionAffinity: isText,
                sessionAffinityConfig: fields({}, { clientIP: fields({}, { timeoutSeconds: isWhole }) }),
                loadBalancerSourceRanges: isTexts,
                healthCheckNodePort: isWhole,
            },
        ),
        status: fields(
            {},
            { loadBalancer: fields({}, { ingress: listOf(fields({}, { ip: isText, ipMode: isText })) }) },
        ),
    },
);

const hints = listOf(fields({ name: isText }));
const endpoint = fields(
    { addresses: isTexts },
    {
        conditions: fields({}, { ready: isFlag, serving: isFlag, terminating: isFlag }),
        nodeName: isText,
        hints: fields({}, { forNodes: hints, forZones: hints }),
    },
);
const slice = fields(
    { name: isName, addressType: isText },
    { endpoints: listOf(endpoint), ports: listOf(fields({}, { name: isText, protocol: isText, port: isWhole })) },
);

/** Whether a value of JSON is an object, no list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether it is a slim Service with name and namespace, and nothing else. */
export function isService(value: unknown): value is ServiceObject {
    return service(value);
}

/** Whether it is a list of texts. */
export function areTexts(value: unknown): value is readonly string[] {
    return isTexts(value);
}

/** Whether these are EndpointSlices as a line has them. */
export function areSlices(value: unknown): value is readonly StoredSlice[] {
    return listOf(slice)(value);
}
