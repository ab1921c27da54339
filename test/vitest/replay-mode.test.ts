import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'hookspan/vitest'
import { afterEach, expect, vi } from 'vitest'

afterEach(() => vi.unstubAllEnvs())

const folder = join(tmpdir(), 'hookspan-no-recordings')

test.for(['True', '1', 'woodpecker'])('records nothing unseen where CI is %s', (CI, { replay }) => {
  vi.stubEnv('CI', CI)
  vi.stubEnv('HOOKSPAN_REPLAY_MODE', '')
  expect(() => replay({ folder })).toThrow('cannot be read')
})

test.for(['', '0', 'false', undefined])('records what is missing where CI is %s', (CI, { replay }) => {
  vi.stubEnv('CI', CI)
  vi.stubEnv('HOOKSPAN_REPLAY_MODE', '')
  const made = replay({ folder })
  expect(made.mode).toBe('record')
  made.detach()
})

test('goes by HOOKSPAN_REPLAY_MODE first, and by no other word', ({ replay }) => {
  vi.stubEnv('CI', 'true')
  vi.stubEnv('HOOKSPAN_REPLAY_MODE', 'recrod')
  expect(() => replay({ folder })).toThrow(
    'Expected `HOOKSPAN_REPLAY_MODE` to be "strict", "record" or "auto", got `"recrod"`',
  )
  expect(() => replay({ folder, mode: 'recrod' as never })).toThrow('Expected `mode` to be "strict"')
})
