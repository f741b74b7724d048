import { Category, objectMask, Table } from "@antrea/flows";
import type { CookieFilter } from "../../platform/ovs/flow-table/index.ts";

/** The flows of addresses of Services, of any start. */
export const addressFlows: CookieFilter = {
    table: Table.ServiceLb,
    cookie: BigInt(Category.service) << 40n,
    cookieMask: objectMask & ~0xffff_ffffn,
};
