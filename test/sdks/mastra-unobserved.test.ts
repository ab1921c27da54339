import { HookDispatcher } from 'hookspan'
import { observeMastra, unobserveMastra } from 'hookspan/mastra'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import type { Untyped } from './support/sdks.ts'

const core = '@mastra/core'
const { Agent }: Untyped = await import(`${core}/agent`)
const { createTool }: Untyped = await import(`${core}/tools`)

it('a tool is as it was once no agent is observed', async () => {
  const wipe = createTool({
    id: 'wipe-all',
    description: 'Wipes.',
    inputSchema: z.object({}),
    execute: async () => 'wiped',
  })
  const { execute } = wipe
  const model = scripted([{ toolCalls: [{ id: 'c', name: 'wipe', args: {} }] }, { content: 'done' }])
  const agent = new Agent({ id: 's', name: 's', instructions: '', model, tools: { wipe } })
  observeMastra(agent, { dispatcher: new HookDispatcher() })
  await agent.generate('Clean up.')
  expect(wipe.execute).not.toBe(execute)
  unobserveMastra(agent)
  expect(wipe.execute).toBe(execute)
})
