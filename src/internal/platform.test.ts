import { afterEach, expect, it, vi } from 'vitest'
import { HookDispatcher } from '../index.ts'

afterEach(() => void vi.unstubAllGlobals())

it('a Node that is too old is told before anything runs', () => {
  const { withResolvers } = Promise
  try {
    Object.assign(Promise, { withResolvers: undefined })
    vi.stubGlobal('process', { ...process, versions: { node: '20.20.2' } })
    expect(() => new HookDispatcher()).toThrow(/needs Node 22\.15 or newer, and this is 20\.20\.2/)
  } finally {
    Object.assign(Promise, { withResolvers })
  }
})
