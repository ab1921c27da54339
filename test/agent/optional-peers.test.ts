import { registerHooks } from 'node:module'
import { type Agent, execAgent } from 'hookspan/agent'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { scripted, usage } from '../support/scripted-client.ts'

let undo: (() => void) | undefined
afterEach(() => {
  undo?.()
  vi.unstubAllEnvs()
})

/** As on a machine where the package is not installed. */
function uninstalled(name: string): void {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== name && !specifier.startsWith(`${name}/`)) return next(specifier, context)
      throw Object.assign(new Error(`Cannot find module '${specifier}'`), { code: 'MODULE_NOT_FOUND' })
    },
  })
  undo = () => hooks.deregister()
}

const agent: Agent = { name: 'a', model: 'gpt-4o' }

describe('an optional package that is not installed', () => {
  // First, because Node remembers what it has required once.
  it('means no costs where it is the price library, and no cost limit', async () => {
    vi.resetModules()
    uninstalled('@pydantic/genai-prices')
    const fresh = await import('hookspan/agent')
    const { client } = scripted([{ content: 'x', usage }])
    const run = await fresh.execAgent({ agent, prompt: 'go', client })
    expect(run.usage).toEqual(usage)
    expect(run.costUsd).toBeUndefined()
    await expect(
      fresh.execAgent({ agent: { ...agent, maxCostUsd: 1 }, prompt: 'go', client }),
    ).rejects.toThrow(
      'no prices are known. Give `execAgent` a `priceOf`, or run: npm install @pydantic/genai-prices',
    )
  })

  it('is named with its npm install line when an agent needs it', async () => {
    const { client } = scripted([])
    uninstalled('openai')
    await expect(execAgent({ agent, prompt: 'go' })).rejects.toMatchObject({
      code: 'MISSING_DEPENDENCY',
      message: expect.stringMatching(/Run: npm install openai$/),
    })
    undo?.()
    uninstalled('gpt-tokenizer')
    const compaction = { thresholdTokens: 10 }
    await expect(execAgent({ agent: { ...agent, compaction }, prompt: 'go', client })).rejects.toMatchObject({
      code: 'MISSING_DEPENDENCY',
      message: expect.stringMatching(/Run: npm install gpt-tokenizer$/),
    })
  })
})

it('makes a client of its own, which says what it lacks', async () => {
  vi.stubEnv('OPENAI_API_KEY', '')
  vi.stubEnv('OPENAI_ADMIN_KEY', '')
  await expect(execAgent({ agent, prompt: 'go' })).rejects.toThrow(/OPENAI_API_KEY/)
})
