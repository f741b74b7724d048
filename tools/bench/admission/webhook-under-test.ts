import { validatingWebhookConfigurations, type KubeObject } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { kubeconfigOf } from "@antrea/chart/testing/chart-server";
import { Daemon } from "../daemon.ts";
import { commandOf, workPath } from "../paths.ts";
import { isReady } from "../readyz.ts";
import { WebhookClient } from "./webhook-client.ts";

const port = 9443;
const readyLimitMs = 60_000;

/** The bundled webhook, ready to serve, next to a real API server that does not call it. */
export class WebhookUnderTest implements AsyncDisposable {
    readonly client: WebhookClient;
    readonly daemon: Daemon;

    private constructor(client: WebhookClient, daemon: Daemon) {
        this.client = client;
        this.daemon = daemon;
    }

    static async start(server: TestApiServer): Promise<WebhookUnderTest> {
        await using stack = new AsyncDisposableStack();
        await server.clients().api.create(validatingWebhookConfigurations, configuration());
        const daemon = stack.use(
            new Daemon({
                name: "antrea-webhook",
                command: commandOf("webhook", [
                    "--kubeconfig",
                    await kubeconfigOf(server, "antrea-webhook"),
                    "--port",
                    String(port),
                ]),
                env: { PATH: process.env.PATH, POD_NAME: "webhook", POD_NAMESPACE: "kube-system", NODE_NAME: "bench" },
                logPath: workPath("antrea-webhook.log"),
            }),
        );
        const client = stack.use(new WebhookClient({ port }));
        await daemon.ready(() => isReady(port), readyLimitMs);
        stack.move();
        return new WebhookUnderTest(client, daemon);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        this.client[Symbol.dispose]();
        await this.daemon[Symbol.asyncDispose]();
    }
}

// The webhook waits for this object, into which it writes its CA bundle. No rule makes the API server call it: pools
// are stored unreviewed.
function configuration(): KubeObject {
    const service = { namespace: "kube-system", name: "antrea-webhook", path: "/validate/ippool" };
    const rule = { apiGroups: ["bench.invalid"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["none"] };
    const webhook = {
        name: "ippools.antrea.io",
        clientConfig: { service },
        rules: [rule],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
    };
    return { metadata: { name: "antrea" }, webhooks: [webhook] } as KubeObject;
}
