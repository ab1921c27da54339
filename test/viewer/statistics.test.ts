/** Intervals against published figures, and against what they promise: to hold the truth 95 times of 100. */
import { describe, expect, it } from 'vitest'
import {
  differenceOf,
  MomentSums,
  meanDifference,
  percentile,
  percentileEstimate,
  proportion,
} from '../../src/viewer/model/statistics.ts'

const moments = (values: readonly number[]) => {
  const sums = new MomentSums()
  for (const value of values) sums.add(value)
  return sums.moments()
}
const sorted = (values: readonly number[]) => Float64Array.from(values).sort()

/** Numbers that only look random: the same ones each time. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

it('the share of one set is in the interval that Newcombe publishes (1998, table I: 81 of 263)', () => {
  const { low, high } = proportion(81, 263)
  expect([low.toFixed(4), high.toFixed(4)]).toEqual(['0.2553', '0.3662'])
  expect(proportion(0, 20)).toMatchObject({ value: 0, low: 0 })
  expect(proportion(20, 20)).toMatchObject({ value: 1, high: 1 })
})

it.each([
  // R. G. Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10; there it is the first less the second.
  [56, 70, 48, 80, '0.0524', '0.3339'],
  [9, 10, 3, 10, '0.1705', '0.8090'],
  [10, 10, 0, 10, '0.6075', '1.0000'],
])('the difference of %i of %i and %i of %i lies where he says', (a, ofA, b, ofB, low, high) => {
  const found = differenceOf(proportion(b, ofB), proportion(a, ofA))
  expect([found.low.toFixed(4), found.high.toFixed(4)]).toEqual([low, high])
})

it.each([
  [1, 12.706],
  [2, 4.303],
  [4, 2.776],
  [5, 2.571],
  [10, 2.228],
  [30, 2.042],
  [1000, 1.962],
])("a mean is known as far as Student's t with %i degrees of freedom says: %d", (freedom, t) => {
  const exact = { count: 1_000_000_000, mean: 0, variance: 0 }
  const found = meanDifference(exact, { count: freedom + 1, mean: 0, variance: freedom + 1 })!
  expect(found.high).toBeCloseTo(t, 2)
  expect(found.low).toBe(-found.high)
})

it('says nothing of too few', () => {
  const few = moments([1])
  expect(meanDifference(few, moments([1, 2, 3]))).toBeUndefined()
  expect(meanDifference(moments([2, 2]), moments([5, 5]))).toEqual({ value: 3, low: 3, high: 3 })
  const least = (share: number) => {
    let count = 1
    while (
      !percentileEstimate(
        Array.from({ length: count }, (_item, at) => at),
        share,
      )
    )
      count++
    return count
  }
  expect([least(0.5), least(0.95)]).toEqual([8, 110])
})

it('percentiles are by nearest rank', () => {
  const ten = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  expect([0.5, 0.95, 0, 1].map((share) => percentile(ten, share))).toEqual([5, 10, 1, 10])
  expect(percentile([7], 0.95)).toBe(7)
})

describe('of 400 pairs of samples, about 95 of 100 intervals hold the difference', () => {
  const PAIRS = 400
  const share = (holds: (random: () => number) => boolean) => {
    const random = numbers(42)
    let held = 0
    for (let pair = 0; pair < PAIRS; pair++) if (holds(random)) held++
    return held / PAIRS
  }
  const inside = (found: { low: number; high: number } | undefined, truth: number) =>
    found !== undefined && found.low <= truth && truth <= found.high
  const many = (count: number, one: () => number) => Array.from({ length: count }, one)

  it('of failure rates', () => {
    const held = share((random) => {
      const failures = (count: number, rate: number) => many(count, random).filter((at) => at < rate).length
      return inside(differenceOf(proportion(failures(60, 0.1), 60), proportion(failures(90, 0.25), 90)), 0.15)
    })
    expect(held).toBeGreaterThan(0.92)
    expect(held).toBeLessThan(0.98)
  })

  it('of medians, however skewed', () => {
    // Exponential: the median is the mean times ln 2.
    const held = share((random) => {
      const times = (count: number, mean: number) => sorted(many(count, () => -mean * Math.log(1 - random())))
      const [a, b] = [percentileEstimate(times(80, 100), 0.5)!, percentileEstimate(times(120, 150), 0.5)!]
      return inside(differenceOf(a, b), 50 * Math.LN2)
    })
    expect(held).toBeGreaterThan(0.92)
  })

  it('of means', () => {
    const held = share((random) => {
      const tokens = (count: number, most: number) => moments(many(count, () => random() * most))
      return inside(meanDifference(tokens(30, 10), tokens(50, 40)), 15)
    })
    expect(held).toBeGreaterThan(0.92)
    expect(held).toBeLessThan(0.98)
  })
})
