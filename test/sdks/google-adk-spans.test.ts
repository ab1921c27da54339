import { AsyncLocalStorage } from 'node:async_hooks'
import { hookspanPlugin } from 'hookspan/google-adk'
import { expect, it } from 'vitest'
import { traced, treeOf } from '../support/span-tree.ts'
import type { Untyped } from './support/sdks.ts'

// Before the SDK is loaded, which keeps the first provider that it sees.
const tracing = traced()
const isGlobal = tracing.makeGlobal()
const sdk = '@google/adk'
const { FunctionTool, InMemoryRunner, LlmAgent }: Untyped = await import(sdk)
const { ScriptedLlm } = await import('./subjects/google-adk.ts')

const LOOK_THEN_DONE = [{ toolCalls: [{ id: '1', name: 'look', args: { q: 'a' } }] }, { content: 'done' }]
const PARAMETERS = { type: 'object', properties: { q: { type: 'string' } } }
const look = (execute: () => unknown) =>
  new FunctionTool({ name: 'look', description: 'Looks it up.', parameters: PARAMETERS, execute })

it('each call is one span of ours, and those that the SDK makes are left out or nested', async () => {
  expect(isGlobal).toBe(true)
  const tenant = new AsyncLocalStorage<string>()
  const seen: (string | undefined)[] = []
  const tree = async (sdkSpans: 'omit' | 'nest') => {
    const agent = new LlmAgent({
      name: 'support',
      model: new ScriptedLlm(LOOK_THEN_DONE),
      tools: [
        look(async () => {
          await Promise.resolve()
          seen.push(tenant.getStore())
          tracing.tracer.startSpan('database').end()
          return 'found'
        }),
      ],
    })
    using plugin = hookspanPlugin({ dispatcher: tracing.dispatcher, sdkSpans })
    const before = tracing.spans().length
    await tenant.run('acme', async () => {
      const runner = new InMemoryRunner({ agent, appName: 'app', plugins: [plugin] })
      const newMessage = { role: 'user', parts: [{ text: 'go' }] }
      for await (const _event of runner.runEphemeral({ userId: 'u', newMessage }));
    })
    return treeOf(tracing.spans().slice(before)).split('\n')
  }
  const omitted = await tree('omit')
  const nested = await tree('nest')

  expect(seen).toEqual(['acme', 'acme'])
  const ours = omitted.slice(omitted.findIndex((line) => line.trim() === 'invoke_agent support'))
  expect(ours.map((line) => line.trim()).filter((line) => line !== 'invocation')).toEqual([
    'invoke_agent support',
    'step 0',
    'chat contract',
    'execute_tool look',
    'database',
    'step 1',
    'chat contract',
  ])
  const named = (name: string) => nested.filter((line) => line.trim() === name)
  expect(named('call_llm')).toHaveLength(2)
  expect(named('chat contract')).toHaveLength(2)
  expect(named('execute_tool look')).toHaveLength(2)
})
