import { expect, it } from 'vitest'
import { installedVersion, sdkVersions, type Untyped } from './support/sdks.ts'

it.each(Object.entries(sdkVersions()))('%s is tested in the exact version %s', async (name, wanted) => {
  expect(wanted.replace(/^npm:.+@/, '')).toMatch(/^\d+\.\d+\.\d+/)
  expect(installedVersion(name)).toBe(wanted.replace(/^npm:.+@/, ''))
})

it('the suite loads an SDK by its name', async () => {
  const name = '@anthropic-ai/claude-agent-sdk'
  const sdk: Untyped = await import(name)
  expect(sdk.query).toBeTypeOf('function')
})
