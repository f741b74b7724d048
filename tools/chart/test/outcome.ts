import { messageOf } from "@antrea/errors";

/** "ok", or the reason in the API server's rejection. */
export async function outcome(request: Promise<unknown>): Promise<string> {
    try {
        await request;
        return "ok";
    } catch (error) {
        return messageOf(error).replace(/^.* (is invalid|denied request): /s, "");
    }
}
