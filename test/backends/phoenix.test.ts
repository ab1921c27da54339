import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { freePorts } from '../support/free-port.ts'
import { BackendServer, installed, sendRun } from './server.ts'

interface PhoenixSpan {
  readonly name: string
  readonly span_kind: string
  readonly parent_id: string | null
  readonly status_code: string
  readonly context: { readonly span_id: string }
  readonly attributes: Readonly<Record<string, unknown>>
}

describe('a real Phoenix, over protobuf', () => {
  const server = new BackendServer()
  let url: string
  let spans: PhoenixSpan[]

  const read = async (path: string) => {
    const { data } = (await (await fetch(`${url}/v1/projects/default/${path}`)).json()) as { data?: never[] }
    return data ?? []
  }

  beforeAll(async () => {
    const [port, grpcPort] = await freePorts(2)
    url = `http://127.0.0.1:${port}`
    const env = {
      PHOENIX_WORKING_DIR: server.folder,
      PHOENIX_HOST: '127.0.0.1',
      PHOENIX_PORT: String(port),
      PHOENIX_GRPC_PORT: String(grpcPort),
      PHOENIX_TELEMETRY_ENABLED: 'false',
    }
    await server.start(installed('phoenix', 'bin/phoenix', 'PHOENIX_BIN'), ['serve'], env, `${url}/healthz`)
    await sendRun({ endpoint: url, protocol: 'http/protobuf', openInference: true })
    await vi.waitFor(async () => expect(await read('spans')).toHaveLength(6), {
      timeout: 60_000,
      interval: 200,
    })
    spans = await read('spans')
  })

  afterAll(() => server.stop())

  const named = (name: string) => spans.find((span) => span.name === name)

  it('shows the agent, its steps as chains, models and tools', () => {
    expect(Object.fromEntries(spans.map(({ name, span_kind }) => [name, span_kind]))).toEqual({
      'invoke_agent support': 'AGENT',
      step: 'CHAIN',
      'chat gpt-4o': 'LLM',
      'execute_tool find': 'TOOL',
      'execute_tool broken': 'TOOL',
      'execute_tool drop_table': 'TOOL',
    })
    expect(named('step')?.parent_id).toBe(named('invoke_agent support')?.context.span_id)
    expect(named('execute_tool find')?.parent_id).toBe(named('step')?.context.span_id)
    const failed = spans.filter(({ status_code }) => status_code === 'ERROR').map(({ name }) => name)
    expect(failed.sort()).toEqual(['execute_tool broken', 'execute_tool drop_table'])
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
