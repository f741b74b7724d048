import { messageOf } from "@antrea/errors";

/** "ok", or what the API server says against it, without the words around it. */
export async function outcome(request: Promise<unknown>): Promise<string> {
    try {
        await request;
        return "ok";
    } catch (error) {
        return messageOf(error).replace(/^.* (is invalid|denied request): /s, "");
    }
}
