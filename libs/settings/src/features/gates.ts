import { nearest } from "../nearest.ts";
import { type Component, type FeatureGateName, type GateSpec, gateSpecs, type GateStage } from "./specs.ts";

/** Status of a feature gate: on or off in this process, or `NotAvailable` if this version does not have the feature. */
export type GateStatus = "Enabled" | "Disabled" | "NotAvailable";

/** The status of a feature gate in a component, for reports to users (`FeatureGates.list`). */
export interface GateReport {
    readonly component: Component;
    readonly name: string;
    readonly status: GateStatus;
    readonly stage: GateStage;
}

/**
 * The feature gates that are enabled; constant for the life of the process. An unavailable gate is never enabled,
 * whatever the file has.
 */
export class FeatureGates<Name extends string = FeatureGateName> {
    readonly #specs: readonly GateSpec<Name>[];
    readonly #enabled: ReadonlySet<string>;

    /**
     * Use {@link readFeatureGates} to create one.
     *
     * @param enabled names of the enabled gates
     */
    constructor(specs: readonly GateSpec<Name>[], enabled: ReadonlySet<string>) {
        this.#specs = specs;
        this.#enabled = enabled;
    }

    /** True if the feature gate is enabled and available. */
    enabled(name: Name): boolean {
        return this.#enabled.has(name);
    }

    /** Returns the feature gates of a component, sorted by name. */
    list(component: Component): readonly GateReport[] {
        const own = this.#specs.filter(({ components }) => components.includes(component));
        return own
            .map(({ name, stage, available }) => ({ component, name, status: this.#status(name, available), stage }))
            .sort((a, b) => (a.name < b.name ? -1 : 1));
    }

    #status(name: Name, available: boolean): GateStatus {
        if (!available) return "NotAvailable";
        return this.enabled(name) ? "Enabled" : "Disabled";
    }
}

/** An invalid entry of `featureGates` with the violated rule. */
export interface GateProblem {
    /** Name of the entry. */
    readonly name: string;
    /** The violated rule, for the message. */
    readonly rule: string;
}

/**
 * The result of reading `featureGates`: the gates, invalid entries and warnings. With invalid entries the gates are
 * those of the valid ones.
 */
export interface GatesResult<Name extends string> {
    /** The resulting gates. */
    readonly gates: FeatureGates<Name>;
    /** Invalid entries. */
    readonly problems: readonly GateProblem[];
    /** Warnings about entries without effect, one line each. */
    readonly warnings: readonly string[];
}

// Switch all gates of a stage that the file does not name.
const groups: ReadonlyMap<string, GateStage> = new Map([
    ["AllAlpha", "Alpha"],
    ["AllBeta", "Beta"],
]);

/**
 * Applies `featureGates` of a settings file to the gates of this version (`gateSpecs`) by the rules of Kubernetes: the
 * value given for a gate, else that of `AllAlpha` or `AllBeta`, else the default of its stage. Does not throw: invalid
 * entries are in `problems`.
 */
export function readFeatureGates(
    component: Component,
    given: Readonly<Record<string, boolean>>,
): GatesResult<FeatureGateName> {
    return readGates<FeatureGateName>(gateSpecs, component, given);
}

/**
 * Applies the entries of a file by the rules of Kubernetes feature gates: a gate has the value given for its name, else
 * that of `AllAlpha` or `AllBeta`, else the default of its stage; GA is always on, an unavailable one off. Both files
 * accept the gates of both components; a gate without effect in this component gives a warning. Does not throw.
 */
export function readGates<Name extends string>(
    specs: readonly GateSpec<Name>[],
    component: Component,
    given: Readonly<Record<string, boolean>>,
): GatesResult<Name> {
    const problems: GateProblem[] = [];
    const warnings: string[] = [];
    const names = [...specs.map(({ name }) => name), ...groups.keys()];
    for (const [name, value] of Object.entries(given)) {
        if (groups.has(name)) {
            warnings.push(...leftOff(specs, name, given, component));
            continue;
        }
        const spec = specs.find((candidate) => candidate.name === name);
        const rule = spec === undefined ? unknownRule(name, names) : ruleBroken(spec, value);
        if (rule !== undefined) problems.push({ name, rule });
        else if (spec !== undefined) warnings.push(...warningsFor(spec, component, value));
    }
    const enabled = specs.filter((spec) => spec.available && stateOf(spec, given)).map(({ name }) => name);
    return { gates: new FeatureGates(specs, new Set(enabled)), problems, warnings };
}

function unknownRule(name: string, names: readonly string[]): string {
    const suggestion = nearest(name, names);
    const hint = suggestion === undefined ? `known are ${names.join(", ")}` : `did you mean ${suggestion}?`;
    return `unknown feature gate; ${hint}`;
}

function ruleBroken(spec: GateSpec, value: boolean): string | undefined {
    if (!spec.available && value) return "not available in this version; remove it or set it to false";
    return undefined;
}

/** Kubernetes refuses false for a GA gate; here what Antrea still lets users switch off only gives a warning. */
function warningsFor(spec: GateSpec, component: Component, value: boolean): string[] {
    const key = `featureGates.${spec.name}`;
    if (!spec.components.includes(component)) {
        return [`${key} has no effect here: it is a gate of the antrea-${spec.components.join(" and antrea-")}`];
    }
    if (spec.available && spec.stage === "GA") {
        return [`${key}: ${value} has no effect: the feature is GA and always on; remove it`];
    }
    return [];
}

/** Warns about gates that `AllAlpha` or `AllBeta` does not enable because they are not available. */
function leftOff(
    specs: readonly GateSpec[],
    group: string,
    given: Readonly<Record<string, boolean>>,
    component: Component,
): string[] {
    if (given[group] !== true) return [];
    const names = specs
        .filter(({ name, stage, components, available }) => {
            return (
                !available &&
                stage === groups.get(group) &&
                components.includes(component) &&
                !Object.hasOwn(given, name)
            );
        })
        .map(({ name }) => name);
    if (names.length === 0) return [];
    return [`featureGates.${group} leaves off what is not available in this version: ${names.join(", ")}`];
}

function stateOf(spec: GateSpec, given: Readonly<Record<string, boolean>>): boolean {
    if (spec.stage === "GA") return true;
    const own = Object.hasOwn(given, spec.name) ? given[spec.name] : undefined;
    const all = `All${spec.stage}`;
    return own ?? (Object.hasOwn(given, all) ? given[all] : undefined) ?? spec.stage === "Beta";
}
