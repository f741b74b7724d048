/** A column of `kubectl get`. */
export interface PrinterColumn {
    readonly name: string;
    readonly type: "string" | "integer" | "date";
    readonly jsonPath: string;
    readonly description: string;
    /** 1: shown with `-o wide` only. */
    readonly priority?: 1;
}

/** The time since an object was created. */
export const age: PrinterColumn = {
    name: "Age",
    type: "date",
    jsonPath: ".metadata.creationTimestamp",
    description: "Time since it was created.",
};

/** A column of text; `jsonPath` starts with a dot. */
export const column = (name: string, jsonPath: string, description: string): PrinterColumn => ({
    name,
    type: "string",
    jsonPath,
    description,
});

/** A column of whole numbers. */
export const numberColumn = (name: string, jsonPath: string, description: string): PrinterColumn => ({
    ...column(name, jsonPath, description),
    type: "integer",
});

/** The column, shown with `-o wide` only. */
export const wide = (one: PrinterColumn): PrinterColumn => ({ ...one, priority: 1 });
