/** What snippets that are not whole files take for granted. */
import type { HookDispatcher, Plugin } from 'hookspan'

declare global {
  const dispatcher: HookDispatcher
  const plugin: Plugin
  // What a snippet is about is the call that it makes with these, not what they are.
  // biome-ignore lint/suspicious/noExplicitAny: whatever the reader has
  type Readers = any
  const graph: ReturnType<import('@langchain/langgraph').StateGraph<Readers>['compile']>
  const input: Readers
  const search: Readers
  const refund: Readers
  const create: Readers
  const capabilities: Readers
  const names: Readers
  const startOnMySdk: Readers
  const it: (name: string, run: () => Promise<void>) => void
  const Anthropic: typeof import('@anthropic-ai/sdk').default
  const tracing: import('hookspan/tracing').Tracing
  const answer: Readers
  const server: Readers
  const restate: Readers
  const DBOS: Readers
  const workflow: Readers
  const Worker: Readers
  const agent: Readers
  const client: Readers
  const model: Readers
  const tools: Readers
  const messages: Readers
}
