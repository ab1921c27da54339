import * as ai from 'ai'
import { HookDispatcher, type HookFailure } from 'hookspan'
import { observeAISDK } from 'hookspan/ai-sdk'
import { proceed } from 'hookspan/gates'
import { observeOpenAI } from 'hookspan/openai'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from './subjects/ai-sdk.ts'
import { SUBJECTS } from './subjects/index.ts'
import { contractClient } from './subjects/model.ts'
import { tellAlike } from './unmatched.ts'

tellAlike(SUBJECTS)

/** Runs of SDKs in an operation of one's own: what they have are tools of it, also those that no model is offered. */
it.each(['ai-sdk', 'runTools', 'runTools of an operation'])(
  'what an SDK has that is part of a run of its own is known: %s',
  async (how) => {
    const failures: HookFailure[] = []
    const dispatcher = new HookDispatcher({ onHookError: (failure) => void failures.push(failure) })
    const gates = ['shown', 'hidden', 'nothing'].map((match) => ({
      id: match,
      point: 'beforeToolCall' as const,
      match,
      decide: proceed,
    }))
    const op = dispatcher.startOperation({ agentName: 'mine', gates })
    const replies = [{ content: 'done' }]
    if (how === 'ai-sdk') {
      const tool = ai.tool({ inputSchema: z.object({}), execute: () => 1 })
      const options = { model: scripted(replies), prompt: 'hi', activeTools: ['shown' as const] }
      const { generateText } = observeAISDK(ai, { dispatcher })
      await op.run(() => generateText({ ...options, tools: { shown: tool, hidden: tool } }))
    } else {
      const { client } = contractClient({ replies } as never)
      const observed = observeOpenAI(client, { dispatcher, ...(how !== 'runTools' && { operation: op }) })
      const tools = ['shown', 'hidden'].map((name) => ({
        type: 'function' as const,
        function: { name, description: name, parameters: {}, parse: JSON.parse, function: () => '1' },
      }))
      const messages = [{ role: 'user' as const, content: 'hi' }]
      const ask = () => observed.chat.completions.runTools({ model: 'contract', messages, tools }).done()
      await (how === 'runTools' ? op.run(ask) : ask())
    }
    await op.complete()
    expect(failures.map(({ hookId }) => hookId)).toEqual(['nothing'])
  },
)
