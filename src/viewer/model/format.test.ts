import { expect, it } from 'vitest'
import { formatMoment } from './format.ts'

it.each([
  // As durations are told, where that tells them apart.
  [0, 50_000, '0 ms'],
  [51_500, 51_500, '51.5 s'],
  [107_000, 3_000, '1 m 47 s'],
  [7_500_000, 600_000, '2 h 5 m'],
  // With more digits than a duration has, where it does not.
  [107_310, 60, '1 m 47.31 s'],
  [59_999.4, 1, '59.999 s'],
  [12_340, 10, '12.34 s'],
  [500.25, 0.05, '500.25 ms'],
  [7_501_000, 15_000, '2 h 5 m 1 s'],
])('tells %f ms among moments %f ms apart as %s', (ms, apartMs, told) => {
  expect(formatMoment(ms, apartMs)).toBe(told)
})

it('never tells two that are that far apart alike', () => {
  for (const apartMs of [0.002, 0.4, 7, 130, 2_600, 70_000]) {
    for (const from of [0, 3.1, 640, 5_100, 61_000, 4_000_000]) {
      const told = [0, 1, 2, 3, 4].map((at) => formatMoment(from + at * apartMs, apartMs))
      expect(new Set(told).size, `${told}`).toBe(5)
    }
  }
})
