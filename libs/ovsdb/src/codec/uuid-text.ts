import { badMessage, readString } from "./reader.ts";

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True for the text of a UUID, in either case. */
export function isUuidText(text: string): boolean {
    return uuidPattern.test(text);
}

/** The text of a UUID, in lower case. @throws OvsdbError `BAD_MESSAGE` with `path` for another value */
export function readUuidText(value: unknown, path: string): string {
    const text = readString(value, path);
    if (!isUuidText(text)) throw badMessage(path, "must be a UUID", text);
    return text.toLowerCase();
}
