import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { type ScriptedServer, startScriptedServer } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { programEnv, receivedTree, registered } from '../support/registered.ts'
import { runCli } from '../support/run-cli.ts'
import type { Untyped } from './support/sdks.ts'

const PROGRAM = fileURLToPath(new URL('processes/other-client.mjs', import.meta.url))

/** The newest and the oldest of each. Where the path is in the resources, it is not in the base URL. */
const CLIENTS: readonly (readonly [name: string, provider: string, inBase: boolean])[] = [
  ['groq-sdk', 'groq', false],
  ['groq-sdk-0.20', 'groq', false],
  ['together-ai', 'together', true],
  ['together-ai-0.6', 'together', true],
  ['@cerebras/cerebras_cloud_sdk', 'cerebras', false],
  ['cerebras-1.3', 'cerebras', false],
]

let model: ScriptedServer
beforeEach(async () => {
  model = await startScriptedServer({
    respond: ({ messages }) => {
      const asked = JSON.stringify(messages)
      if (/Clean up\./.test(asked) && !/"tool"/.test(asked)) {
        return { toolCalls: [{ id: 'call_1', name: 'wipe', arguments: { what: 'all' } }] }
      }
      if (/Fail\./.test(asked)) return { error: { status: 429, message: 'slow down' } }
      return { content: 'done', usage: { inputTokens: 9, outputTokens: 2 } }
    },
  })
})
afterEach(() => model.close())

const baseURL = (inBase: boolean) => (inBase ? model.baseURL : new URL(model.baseURL).origin)
const ask = (content: string) => ({ model: 'scripted', messages: [{ role: 'user', content }] })

async function textOf(stream: AsyncIterable<Untyped>): Promise<string> {
  let text = ''
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
  return text
}

describe.each(CLIENTS)('a client of %s', (name, provider, inBase) => {
  async function observed(dispatcher: HookDispatcher): Promise<Untyped> {
    const { default: Client } = (await import(name)) as Untyped
    const given = { apiKey: 'none', baseURL: baseURL(inBase), maxRetries: 0, warmTCPConnection: false }
    return observeOpenAI(new Client(given), { dispatcher })
  }

  it('is observed with observeOpenAI(), as what it is', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const dispatcher = new HookDispatcher()
    const told: unknown[] = []
    dispatcher.use({
      name: 'see',
      hooks: [
        {
          id: 'answered',
          type: 'afterLlmCall',
          handler: ({ provider, response, usage }) =>
            void told.push(`${provider}: ${response.content} ${usage?.outputTokens ?? ''}`),
        },
        {
          id: 'failed',
          type: 'onLlmCallError',
          handler: ({ provider }) => void told.push(`${provider}: failed`),
        },
      ],
    })
    const { completions } = (await observed(dispatcher)).chat
    expect((await completions.create(ask('Hi.'))).choices[0].message.content).toBe('done')
    expect(await textOf(await completions.create({ ...ask('Hi.'), stream: true }))).toBe('done')
    expect((await completions.create(ask('Hi.')).withResponse()).data.choices[0].message.content).toBe('done')
    expect((await (await completions.create(ask('Hi.')).asResponse()).json()).choices).toHaveLength(1)
    await expect(completions.create(ask('Fail.'))).rejects.toMatchObject({ status: 429 })
    await dispatcher.drain()
    // A stream that is not asked for its usage tells none.
    const answers = ['done 2', 'done ', 'done 2', 'done 2', 'failed']
    expect(told).toEqual(answers.map((answer) => `${provider}: ${answer}`))
    expect(warn.mock.calls).toEqual([])
    warn.mockRestore()
  })

  it('is given what a gate puts in the place of a reply, streamed or not', async () => {
    const dispatcher = new HookDispatcher()
    const decide = () => ({ decision: 'skip', result: { content: 'stood in' } }) as const
    dispatcher.use({ name: 'gate', gates: [{ id: 'gate', point: 'beforeLlmCall', decide }] })
    const { completions } = (await observed(dispatcher)).chat
    expect((await completions.create(ask('Hi.'))).choices[0].message.content).toBe('stood in')
    expect(await textOf(await completions.create({ ...ask('Hi.'), stream: true }))).toBe('stood in')
    expect(model.requests).toEqual([])
  })

  // A second version has a name that no program gives it.
  it.runIf(!/-\d/.test(name))('of a plain program is attached, and guards hold in it', async () => {
    const collector = await startCollector()
    const env = programEnv(model.baseURL, collector.url)
    const args = [name, baseURL(inBase)]
    const bare = await runCli([PROGRAM, ...args], { command: '--no-warnings', env })
    const sent = model.requests.map(({ path, body }) => [path, body])
    const free = await registered(PROGRAM, { env, args })
    expect({ code: free.code, stdout: free.stdout }, free.stderr).toEqual({
      code: 0,
      stdout: 'done\ndone\n',
    })
    expect(bare.stdout).toBe(free.stdout)
    expect(model.requests.map(({ path, body }) => [path, body])).toEqual([...sent, ...sent])
    expect(receivedTree(collector.spans)).toEqual([
      'invoke_agent other-client.mjs',
      '  chat scripted',
      '  chat scripted',
      'invoke_agent other-client.mjs',
      '  chat scripted',
    ])
    expect(free.stderr).not.toContain('not attached')

    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    const gates = [{ id: 'few', type: 'budget', maxTokens: 1 }]
    writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))
    const held = await registered(PROGRAM, { env, args, cwd })
    rmSync(cwd, { recursive: true, force: true })
    await collector.stop()
    expect(held.stdout).toContain('budget')
    expect(model.requests).toHaveLength(2 * sent.length)
  })
})
