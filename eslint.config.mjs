import { dirname, relative, resolve, sep } from "node:path";
import nx from "@nx/eslint-plugin";
import tseslint from "typescript-eslint";

// Which layer may import which. `wire`: notations and codecs; `domain`: what the project exists for, pure; `io`: sockets,
// files, the kernel, the API server, knowing nothing of features; `app`: the programs; `tool`: what measures, tests and
// writes them, which nothing that ships imports.
const layers = [
    { sourceTag: "layer:wire", onlyDependOnLibsWithTags: ["layer:wire"] },
    { sourceTag: "layer:domain", onlyDependOnLibsWithTags: ["layer:wire", "layer:domain"] },
    { sourceTag: "layer:io", onlyDependOnLibsWithTags: ["layer:wire", "layer:io"] },
    { sourceTag: "layer:app", onlyDependOnLibsWithTags: ["layer:wire", "layer:domain", "layer:io"] },
    {
        sourceTag: "layer:tool",
        onlyDependOnLibsWithTags: ["layer:wire", "layer:domain", "layer:io", "layer:app", "layer:tool"],
    },
];

const builtIns = { group: ["node:*"], message: "This code is pure: it imports no Node.js built-in." };
const connections = {
    group: ["@antrea/openflow/connection", "@antrea/ovsdb/session"],
    message: "Pure code may use the codec of a protocol, not its connection.",
};
// A busy machine makes any of these fail. What counts is evidence: calls, steps, the order of events, a ManualClock, or a
// limit set so long that only the time-out of the test would end a wait for it.
const timedTests = {
    selector:
        "CallExpression[callee.property.name=/^toBeLessThan/] > MemberExpression CallExpression[callee.name='expect'] " +
        ":matches(CallExpression[callee.object.name=/^(performance|Date)$/][callee.property.name='now'], " +
        "Identifier[name=/(^ms|Ms)$/])",
    message: "No test has an upper limit of real time. Where a time is the promise, disable this rule with the reason.",
};
// `make mutate` loads a file once and runs its tests for minutes
const agedLimits = {
    selector: ["", "ObjectExpression > Property > "]
        .map((within) => `Program > VariableDeclaration > VariableDeclarator > ${within}`)
        .map((path) => `${path}CallExpression[callee.object.name='AbortSignal'][callee.property.name='timeout']`)
        .join(", "),
    message: "This limit begins when the file is loaded: make it a function that each test calls.",
};
const groupSignals = {
    selector:
        "CallExpression[callee.object.name='process'][callee.property.name='kill']" +
        ":not(:has(> MemberExpression.arguments[object.name='process'][property.name='pid']))",
    message:
        "A process id of 0 is the whole process group: signal a ChildProcess, or check the id as test/support/signal.ts does.",
};
const spreadGroups = {
    selector: "SpreadElement > :matches(ObjectExpression, ArrayExpression)",
    message: "Write the members themselves: a literal that is spread into another only hides them.",
};
const bareErrors = {
    selector:
        ":matches(NewExpression, CallExpression)" +
        "[callee.name=/^(Error|TypeError|RangeError|SyntaxError|AggregateError|AntreaError)$/]",
    message:
        "Make an error of a class of your own, derived from AntreaError: it names whose fault it is and carries a code.",
};
const codesWithoutClass = {
    // those of zod have no class; 0 is the exit code of a program
    selector:
        "BinaryExpression[operator=/^[!=]==$/]:matches(" +
        "[left.property.name='code'][right.type='Literal']:not([left.object.name='issue']):not([right.value=0]), " +
        "[right.property.name='code'][left.type='Literal'])",
    message: "Codes of different classes have the same names: ask isErrorOf(Class, error, code), or isSystemError.",
};
const testing = {
    group: ["@antrea/*/testing", "@antrea/*/testing/*", "@antrea/*/fuzzing"],
    message: "Fakes, compliance suites and what stands behind the exports are for tests and tools only.",
};

// Inside a program imports point down: commands and compose, then features, then the platform. A feature that imports
// another can be neither read nor switched off without it: what two need is of the platform, or handed in by compose,
// which knows of a feature its `feature.ts`, `index.ts` and `…-parts.ts`.
const floors = { commands: 2, compose: 2, main: 2, features: 1, platform: 0 };
const doors = /^(feature|index|[\w-]+-parts)\.ts$/;
/**
 * Of a file of a program its program, folder below src (`compose` of compose.ts too) and, of a feature, the feature and the
 * path in it.
 */
function placeOf(path) {
    const [apps, app, src, folder = "", feature, ...rest] = relative(import.meta.dirname, path).split(sep);
    if (apps !== "apps" || src !== "src") return undefined;
    return { app, folder: folder.replace(/\.ts$/, ""), feature, path: rest.join("/") };
}
function wrongFloor(from, to) {
    if (from?.app !== to?.app || floors[from?.folder] === undefined || floors[to?.folder] === undefined)
        return undefined;
    if (floors[to.folder] > floors[from.folder])
        return `${from.folder}/ imports nothing of ${to.folder}: imports point down.`;
    if (from.folder === "compose" && to.folder === "features" && !doors.test(to.path))
        return `compose imports feature.ts, index.ts and …-parts.ts of a feature: ${to.path} is its own.`;
    if (from.folder !== "features" || to.folder !== "features" || from.feature === to.feature) return undefined;
    return `The feature ${from.feature} imports nothing of ${to.feature}: move it to platform/, or hand it in from compose.`;
}
/** A program that imports its own exports would pass the check of paths. */
function ownExport(from, name) {
    return floors[from?.folder] !== undefined && name.startsWith(`@antrea/${from.app}/`)
        ? `${name} is this program's own: import it by its path.`
        : undefined;
}
const appFloors = {
    meta: { type: "problem", schema: [] },
    create(context) {
        const check = ({ source }) => {
            if (typeof source?.value !== "string") return;
            const from = placeOf(context.filename);
            const message = source.value.startsWith(".")
                ? wrongFloor(from, placeOf(resolve(dirname(context.filename), source.value)))
                : ownExport(from, source.value);
            if (message !== undefined) context.report({ node: source, message });
        };
        return {
            ImportDeclaration: check,
            ImportExpression: check,
            ExportNamedDeclaration: check,
            ExportAllDeclaration: check,
            TSImportType: ({ source, argument }) => check({ source: source ?? argument?.literal }),
        };
    },
};
/** Whether the type is that of errors whose code may be of any class: AntreaError, or an error that is not known as its own. */
function hasAnyCode(checker, type) {
    if (type.isUnion()) return type.types.some((one) => hasAnyCode(checker, one));
    if (type.isIntersection()) return type.types.every((one) => hasAnyCode(checker, one));
    // a class that the caller names, as to isErrorOf
    if (type.isTypeParameter()) return false;
    const names = [];
    for (let next = checker.getApparentType(type); next !== undefined;) {
        names.push(next.symbol?.name);
        const declared = next.target ?? next;
        next = declared.isClassOrInterface() ? checker.getBaseTypes(declared)[0] : undefined;
    }
    const isKnown = names.indexOf("AntreaError") > 0 || names.includes("SystemError");
    return names.includes("Error") && !isKnown;
}
// What the selector of `codesWithoutClass` cannot tell: whether the class is known where a list has the code, or a switch
// decides by it.
const codesOfClass = {
    meta: { type: "problem", schema: [] },
    create(context) {
        const { parserServices: services } = context.sourceCode;
        const check = (node) => {
            if (node?.type !== "MemberExpression" || node.property.name !== "code") return;
            const type = services.getTypeAtLocation(node.object);
            if (hasAnyCode(services.program.getTypeChecker(), type))
                context.report({ node, message: codesWithoutClass.message });
        };
        return {
            "CallExpression[callee.property.name=/^(has|includes)$/]": (call) => check(call.arguments[0]),
            SwitchStatement: ({ discriminant }) => check(discriminant),
        };
    },
};
const restricted = (...patterns) => ({ "no-restricted-imports": ["error", { patterns }] });

const house = { rules: { "app-floors": appFloors, "codes-of-class": codesOfClass } };

export default tseslint.config(
    { ignores: ["**/dist/**", "**/node_modules/**", "**/gen/**", "**/*.mjs", "**/*.cjs", ".nx/**"] },
    {
        files: ["**/*.ts"],
        plugins: { "@nx": nx, "@typescript-eslint": tseslint.plugin, house },
        languageOptions: {
            parser: tseslint.parser,
            parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
        },
        linterOptions: { reportUnusedDisableDirectives: "error" },
        rules: {
            "@nx/enforce-module-boundaries": ["error", { depConstraints: layers, allow: [] }],
            "house/app-floors": "error",
            "house/codes-of-class": "error",
            "@typescript-eslint/no-explicit-any": "error",
            "@typescript-eslint/no-floating-promises": "error",
            "@typescript-eslint/no-misused-promises": "error",
            "@typescript-eslint/only-throw-error": "error",
            "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
            "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
            "@typescript-eslint/await-thenable": "error",
            "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
            "no-restricted-syntax": ["error", groupSignals, spreadGroups, bareErrors, codesWithoutClass],
            "max-lines": ["error", { max: 400 }],
            "no-console": "error",
            // the directions of imports have no exceptions
            "no-warning-comments": ["error", { terms: ["@nx/enforce-module-boundaries"], location: "anywhere" }],
            eqeqeq: "error",
            "prefer-const": "error",
        },
    },
    { files: ["libs/**/src/**/*.ts", "apps/**/src/**/*.ts"], rules: restricted(testing) },
    {
        files: [
            "libs/{errors,ip,cni,crd,ipam,flows,services}/src/**/*.ts",
            "libs/openflow/src/codec/**/*.ts",
            "libs/ovsdb/src/codec/**/*.ts",
        ],
        rules: restricted(testing, builtIns, connections),
    },
    {
        files: ["**/test/**/*.ts", "**/testing/**/*.ts", "e2e/**/*.ts", "tools/**/*.ts"],
        rules: {
            "max-lines": "off",
            "no-console": "off",
            "no-restricted-syntax": ["error", timedTests, agedLimits, groupSignals, spreadGroups],
            "no-restricted-imports": "off",
        },
    },
    {
        files: ["tools/**/*.ts"],
        ignores: ["**/test/**"],
        rules: {
            "no-restricted-syntax": [
                "error",
                timedTests,
                agedLimits,
                groupSignals,
                spreadGroups,
                bareErrors,
                codesWithoutClass,
            ],
        },
    },
);
