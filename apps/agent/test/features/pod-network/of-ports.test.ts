import { beforeEach, describe, expect, it } from "@jest/globals";
import { podOfPorts } from "@antrea/flows";
import { OfPortNumbers } from "../../../src/features/pod-network/of-ports.ts";

const count = podOfPorts.last - podOfPorts.first + 1;

describe("OpenFlow port numbers", () => {
    it("go up and are used again only after all others", () => {
        const numbers = new OfPortNumbers();
        expect([numbers.take(), numbers.take()]).toEqual([podOfPorts.first, podOfPorts.first + 1]);
        numbers.release(podOfPorts.first);
        expect(numbers.take()).toBe(podOfPorts.first + 2);
        for (let taken = 3; taken < count; taken += 1) numbers.take();
        expect(numbers.take()).toBe(podOfPorts.first);
    });

    it("are all given out once, then refused, and one that is free again is found", () => {
        const numbers = new OfPortNumbers();
        const all = new Set(Array.from({ length: count }, () => numbers.take()));
        expect(all.size).toBe(count);
        expect(Math.min(...all)).toBe(podOfPorts.first);
        expect(Math.max(...all)).toBe(podOfPorts.last);
        expect(() => numbers.take()).toThrow(expect.objectContaining({ code: "NO_PORT_NUMBER" }));
        numbers.release(40_000);
        expect(numbers.take()).toBe(40_000);
    });

    it("go on after what was noted, and never meet it", () => {
        const numbers = new OfPortNumbers();
        numbers.note(33_000);
        numbers.note(32_900);
        numbers.note(17);
        expect(numbers.take()).toBe(33_001);
        numbers.note(podOfPorts.last);
        expect(numbers.take()).toBe(33_002);
    });

    it("go around past the last one", () => {
        const numbers = new OfPortNumbers();
        numbers.note(podOfPorts.last - 1);
        expect([numbers.take(), numbers.take()]).toEqual([podOfPorts.last, podOfPorts.first]);
    });
});

describe("the port numbers of an interface", () => {
    const [key, wanted, second, third] = ["ab12/eth0", 32_784, 9, 11] as const;
    let numbers: OfPortNumbers;

    beforeEach(() => {
        numbers = new OfPortNumbers();
        numbers.note(wanted);
    });

    const used = (): readonly number[] => [...numbers.used].toSorted((one, another) => one - another);

    it("stay when OVS has the port by the number that was asked for", () => {
        numbers.useUnsettled(key, wanted, wanted);
        numbers.settle(key, wanted, wanted);
        expect(used()).toEqual([wanted]);
    });

    it("are both taken until the flows have the second one, and then that alone", () => {
        numbers.useUnsettled(key, wanted, second);
        expect(used()).toEqual([second, wanted]);
        numbers.settle(key, wanted, second);
        expect(used()).toEqual([second]);
    });

    it("are the desired one and the last, when OVS changes its mind before the flows came", () => {
        numbers.useUnsettled(key, wanted, second);
        numbers.useUnsettled(key, wanted, second);
        expect(used()).toEqual([second, wanted]);
        numbers.useUnsettled(key, wanted, third);
        expect(used()).toEqual([third, wanted]);
        numbers.useUnsettled(key, wanted, wanted);
        expect(used()).toEqual([wanted]);
    });

    it("that the flows have is not given to another Pod when the port gets a third one", () => {
        numbers.useUnsettled(key, wanted, second);
        numbers.settle(key, wanted, second);
        numbers.useUnsettled(key, second, third);
        expect(used()).toEqual([second, third]);
    });

    it("are all free when nothing of it stands, and none of them is freed again for who has it next", () => {
        numbers.useUnsettled(key, wanted, second);
        numbers.forget(key, wanted);
        expect(used()).toEqual([]);
        numbers.note(second);
        numbers.note(wanted);
        numbers.forget(key, wanted);
        expect(used()).toEqual([second]);
    });
});
