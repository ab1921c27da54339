import Anthropic from '@anthropic-ai/sdk'
import { HookDispatcher } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
import { callTool, scriptedFetch } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { expect, it } from 'vitest'

it.each([true, false])(
  'a tool that a thread is given is decided on, its runner made before: %s',
  async (before) => {
    const ran: string[] = []
    const wipe = {
      type: 'custom' as const,
      name: 'wipe',
      description: 'Wipes.',
      input_schema: { type: 'object' as const },
      run: () => {
        ran.push('wiped')
        return 'wiped'
      },
      parse: (input: unknown) => input,
    }
    const fetch = scriptedFetch({ steps: [callTool('wipe', {}), { content: 'done' }] })
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
    const client = observeAnthropic(new Anthropic({ apiKey: 'none', fetch, maxRetries: 0 }), { dispatcher })
    const thread = client.beta.messages.thread({
      model: 'claude-opus-5',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Wipe it.' }],
    })
    const made = before ? thread.toolRunner() : undefined
    thread.update({ tools: [wipe] } as never)
    const { content } = await (made ?? thread.toolRunner())
    expect(content).toMatchObject([{ text: 'done' }])
    expect(ran).toEqual([])
  },
)
