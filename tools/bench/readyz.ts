import { get } from "node:https";

/** Whether a daemon on this machine reports that it is ready. */
export async function isReady(port: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    // Its certificate is self-signed.
    const options = { host: "127.0.0.1", port, path: "/readyz", rejectUnauthorized: false, agent: false };
    get(options, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
    }).on("error", () => resolve(false));
    return promise;
}
