// What tests import from @jest/globals when they run here, where no jest is. Matchers, it.each and spies are jest's own.
import { expect } from "expect";
import { bind } from "jest-each";
import { ModuleMocker } from "jest-mock";
import { Suite, type Work } from "./suite.ts";

/** Loaded by each test file, so there is one. */
export const suite = new Suite();

const define = (title: string, work: Work): void => suite.it(title, work);
const group = (title: string, work: Work): void => suite.describe(title, work);

export { expect };
export const it = Object.assign(define, { each: bind(define, false) });
export const test = it;
export const describe = Object.assign(group, { each: bind(group, false) });
export const beforeAll = (work: Work): unknown => suite.block.beforeAll.push(work);
export const afterAll = (work: Work): unknown => suite.block.afterAll.push(work);
export const beforeEach = (work: Work): unknown => suite.block.beforeEach.push(work);
export const afterEach = (work: Work): unknown => suite.block.afterEach.push(work);
const mocker = new ModuleMocker(globalThis);
/** Spies alone: tests with fake timers do not run here. */
export const jest = { fn: mocker.fn.bind(mocker), spyOn: mocker.spyOn.bind(mocker) };
// A test that fails before it puts back what it spied on leaves nothing behind for the next one.
suite.onEnd = () => mocker.restoreAllMocks();
