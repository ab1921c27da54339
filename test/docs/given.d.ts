/** What snippets that are not whole files take for granted. */
import type { AgentHook, HookDispatcher, Operation, Plugin } from 'hookspan'

declare global {
  const dispatcher: HookDispatcher
  /** `@anthropic-ai/claude-agent-sdk`, which is not installed here. */
  const sdk: { query(params: object): AsyncIterable<{ type: 'result'; session_id: string }> }
  const shop: object
  const op: Operation
  const plugin: Plugin
  const hook: AgentHook
  // What a snippet is about is the call that it makes with these, not what they are.
  // biome-ignore lint/suspicious/noExplicitAny: whatever the reader has
  type Readers = any
  const graph: Readers
  const input: Readers
  const search: Readers
  const refund: Readers
  const create: Readers
  const capabilities: Readers
  const names: Readers
  const startOnMySdk: Readers
  const it: (name: string, run: () => Promise<void>) => void
  const Anthropic: typeof import('@anthropic-ai/sdk').default
  const OpenAI: typeof import('openai').default
  const tracer: import('@opentelemetry/api').Tracer
  const exporter: Readers
  const tracing: import('hookspan/tracing').Tracing
  const answer: Readers
  const server: Readers
  const restate: Readers
  const DBOS: Readers
  const agent: Readers
  const prompt: string
  const client: Readers
  const model: Readers
  const tools: Readers
  const messages: Readers
}
