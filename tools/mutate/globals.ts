// The replacement of @jest/globals when tests run here without jest. Matchers, it.each and spies are jest's own.
import { expect } from "expect";
import { bind } from "jest-each";
import { ModuleMocker } from "jest-mock";
import { Suite, type Work } from "./suite.ts";

/** Shared by all test files. */
export const suite = new Suite();

const define = (title: string, work: Work): void => suite.it(title, work);
const group = (title: string, work: Work): void => suite.describe(title, work);

export { expect };
/** As in jest. */
export const it = Object.assign(define, { each: bind(define, false) });
/** As in jest. */
export const test = it;
/** As in jest. */
export const describe = Object.assign(group, { each: bind(group, false) });
/** As in jest. */
export const beforeAll = (work: Work): unknown => suite.block.beforeAll.push(work);
/** As in jest. */
export const afterAll = (work: Work): unknown => suite.block.afterAll.push(work);
/** As in jest. */
export const beforeEach = (work: Work): unknown => suite.block.beforeEach.push(work);
/** As in jest. */
export const afterEach = (work: Work): unknown => suite.block.afterEach.push(work);
const mocker = new ModuleMocker(globalThis);
/** Spies only: tests with fake timers do not run here. */
export const jest = { fn: mocker.fn.bind(mocker), spyOn: mocker.spyOn.bind(mocker) };
// Restores the spies of a test that fails before it restores them.
suite.onEnd = () => mocker.restoreAllMocks();
