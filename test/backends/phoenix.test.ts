import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { freePorts } from '../support/free-port.ts'

const CACHE = fileURLToPath(new URL('../../.cache/phoenix', import.meta.url))

interface PhoenixSpan {
  readonly name: string
  readonly span_kind: string
  readonly parent_id: string | null
  readonly status_code: string
  readonly context: { readonly span_id: string }
  readonly attributes: Readonly<Record<string, unknown>>
}

/** `PHOENIX_BIN` names one of yours. */
function phoenix(): string {
  const given = process.env.PHOENIX_BIN
  if (given !== undefined) return given
  const installed = existsSync(CACHE) ? readdirSync(CACHE) : []
  const found = installed
    .map((version) => join(CACHE, version, 'bin/phoenix'))
    .find((path) => existsSync(path))
  if (found === undefined)
    throw new Error('Found no Phoenix. Run `npm run backends:install`, or set PHOENIX_BIN.')
  return found
}

/** Phoenix takes a number and says none: one that was free a moment ago. */
describe('a real Phoenix, over protobuf', () => {
  let folder: string
  let server: ChildProcess
  let url: string
  let log = ''
  let spans: PhoenixSpan[]

  const read = async (path: string) => {
    const { data } = (await (await fetch(`${url}/v1/projects/default/${path}`)).json()) as { data?: never[] }
    return data ?? []
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hookspan-phoenix-'))
    const [port, grpcPort] = await freePorts(2)
    url = `http://127.0.0.1:${port}`
    server = spawn(phoenix(), ['serve'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        PHOENIX_WORKING_DIR: folder,
        PHOENIX_HOST: '127.0.0.1',
        PHOENIX_PORT: String(port),
        PHOENIX_GRPC_PORT: String(grpcPort),
        PHOENIX_TELEMETRY_ENABLED: 'false',
      },
    })
    for (const stream of [server.stdout, server.stderr])
      stream?.on('data', (text) => (log = (log + text).slice(-4_000)))
    await vi.waitFor(
      async () => {
        if (server.exitCode !== null) throw new Error(`Phoenix ended: ${log}`)
        expect((await fetch(`${url}/healthz`)).status).toBe(200)
      },
      { timeout: 240_000, interval: 200 },
    )
    const tracing = startTracing({
      endpoint: url,
      protocol: 'http/protobuf',
      captureContent: true,
      openInference: true,
      flushOnExit: false,
    })
    const dispatcher = new HookDispatcher({ priceOf: () => 0.25 })
    dispatcher.use(tracing)
    const run = dispatcher.startOperation({
      agentName: 'support',
      conversationId: 'c-1',
      input: 'Where is it?',
    })
    await run.step(async (step) => {
      const request = { messages: [{ role: 'user', content: 'Where is it?' }] }
      await step.llmCall({ model: 'gpt-4o', provider: 'openai', request }, () => ({
        model: 'gpt-4o',
        choices: [{ message: { role: 'assistant', content: 'In Ulm.' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 11, completion_tokens: 5 },
      }))
      await step.toolCall({ apiName: 'find', args: { id: 7 } }, () => ({ found: true }))
      await step.toolCall({ apiName: 'broken', args: {} }, () => Promise.reject(new TypeError('no')))
    })
    await run.complete({ content: 'In Ulm.' })
    await tracing.shutdown({ timeoutMs: 60_000 })
    expect(tracing.stats()).toMatchObject({ queued: 0, exported: 5, dropped: 0 })
    await vi.waitFor(async () => expect(await read('spans')).toHaveLength(5), {
      timeout: 60_000,
      interval: 200,
    })
    spans = await read('spans')
  })

  afterAll(async () => {
    if (server !== undefined && server.exitCode === null) {
      server.kill('SIGKILL')
      await once(server, 'exit')
    }
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })

  const named = (name: string) => spans.find((span) => span.name === name)

  it('shows the agent, its steps as chains, models and tools', () => {
    expect(Object.fromEntries(spans.map(({ name, span_kind }) => [name, span_kind]))).toEqual({
      'invoke_agent support': 'AGENT',
      step: 'CHAIN',
      'chat gpt-4o': 'LLM',
      'execute_tool find': 'TOOL',
      'execute_tool broken': 'TOOL',
    })
    expect(named('step')?.parent_id).toBe(named('invoke_agent support')?.context.span_id)
    expect(named('execute_tool find')?.parent_id).toBe(named('step')?.context.span_id)
    expect(named('execute_tool broken')?.status_code).toBe('ERROR')
  })

  it('shows the answer, tokens and cost of the call', () => {
    expect(named('chat gpt-4o')?.attributes).toMatchObject({
      'llm.model_name': 'gpt-4o',
      'llm.token_count.prompt': 11,
      'llm.token_count.completion': 5,
      'llm.cost.total': 0.25,
      'llm.output_messages.0.message.content': 'In Ulm.',
    })
    expect(named('execute_tool find')?.attributes).toMatchObject({ 'output.value': '{"found":true}' })
  })

  it('has the conversation as a session', async () => {
    await expect
      .poll(() => read('sessions'), { timeout: 60_000, interval: 200 })
      .toMatchObject([{ session_id: 'c-1', token_count_prompt: 11, token_count_completion: 5 }])
  })
})
