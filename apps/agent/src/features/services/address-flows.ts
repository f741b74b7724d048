import { Category, Table } from "@antrea/flows";
import { ofCategory, type CookieFilter } from "../../platform/ovs/flow-table/index.ts";

/** The flows of addresses of Services, of any start. */
export const addressFlows: CookieFilter = { table: Table.ServiceLb, ...ofCategory(Category.service) };
