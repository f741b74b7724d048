import { Category, objectMask, Table } from "@antrea/flows";
import type { CookieFilter } from "../../platform/ovs/flow-table/index.ts";

/** The flow that shows that OVS has had all Services, of any start: see `completePart`. */
export const completeFlow: CookieFilter = {
    table: Table.ServiceLb,
    cookie: BigInt(Category.servicesComplete) << 40n,
    cookieMask: objectMask & ~0xffff_ffffn,
};
