import { Category, Table } from "@antrea/flows";
import { ofCategory, type CookieFilter } from "../../platform/ovs/flow-table/index.ts";

/** The flow that shows that OVS has had all Services, of any start: see `completePart`. */
export const completeFlow: CookieFilter = { table: Table.ServiceLb, ...ofCategory(Category.servicesComplete) };
