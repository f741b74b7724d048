import { expect, it } from "@jest/globals";
import { saltOf } from "../../../src/features/services/salt.ts";
import { endpointsAt, portAt, serviceWith } from "./examples.ts";

const two = [portAt("10.96.0.1", endpointsAt("10.10.1.2", "10.10.1.3"))];
const one = [portAt("10.96.0.1", endpointsAt("10.10.1.2"))];

it.each([
    ["without affinity", serviceWith(two), 60_500, 0n, undefined],
    ["with one endpoint", serviceWith(one, { affinitySeconds: 60 }), 60_500, 0n, undefined],
    ["in its first minute", serviceWith(two, { affinitySeconds: 60 }), 59_500, 0n, 500],
    ["in its second minute", serviceWith(two, { affinitySeconds: 60 }), 60_500, 1n, 59_500],
    ["with a timeout of a second", serviceWith(two, { affinitySeconds: 1 }), 25_000, 2n, 5_000],
])("the salt of a Service %s", (_name, service, now, value, leftMs) => {
    expect(saltOf(service, now)).toEqual({ value, leftMs });
});
