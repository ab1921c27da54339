import { expect, it } from 'vitest'
import { lengthMs, timeMs } from './when.ts'

it('reads lengths of time, and nothing that only looks like one', () => {
  const lengths = ['500ms', '10s', '2m', '1.5h', '7d', '2w', '0s']
  expect(lengths.map(lengthMs)).toEqual([500, 10_000, 120_000, 5_400_000, 604_800_000, 1_209_600_000, 0])
  for (const text of ['', '5', '5 m', '-2h', '1.h', '.5h', '2H', '2min', '1e3s', 'h', '2h30m'])
    expect(lengthMs(text), text).toBeUndefined()
})

it('reads points of time, in a zone of their own, in UTC or in that of the process', () => {
  const at = Date.UTC(2026, 10, 22, 10)
  for (const text of ['2026-11-22T10:00Z', '2026-11-22T11:00+01:00', '2026-11-22T11:00:00.000+0100'])
    expect([timeMs(text, 'utc'), timeMs(text, 'local')], text).toEqual([at, at])
  expect(timeMs('2026-11-22T10:00', 'utc')).toBe(at)
  expect(timeMs('2026-11-22T10:00', 'local')).toBe(new Date(2026, 10, 22, 10).getTime())
  expect([timeMs('2026-11', 'utc'), timeMs('2026-11-01', 'utc')]).toEqual(
    Array(2).fill(Date.UTC(2026, 10, 1)),
  )
  expect(timeMs('2026-11', 'local')).toBe(new Date(2026, 10, 1).getTime())
  for (const text of [
    '',
    '2026',
    '2026-13-01',
    '2026-11-22T25:00',
    '2026-11-22 10:00',
    '2026-11-22T10',
    'yesterday',
    '22.11.2026',
  ])
    expect(timeMs(text, 'utc'), text).toBeUndefined()
})
