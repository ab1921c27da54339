import { rmSync } from 'node:fs'
import type { HookDispatcher } from 'hookspan'
import { observeClaudeAgent } from 'hookspan/claude-agent'
import { type ClaudeReply, homeOf, scriptedClaude } from '../subjects/claude-agent.ts'
import type { Untyped } from './sdks.ts'

const NAME = '@anthropic-ai/claude-agent-sdk'

interface Asking {
  /** What the models of other names say, by the name. */
  readonly others?: Readonly<Record<string, readonly ClaudeReply[]>>
  readonly prompt?: unknown
  readonly env?: Readonly<Record<string, string>>
  readonly sdkSpans?: 'omit' | 'nest'
  /** Another version than the newest. */
  readonly sdk?: string
  readonly onMessage?: (message: Untyped, query: Untyped) => void
}

/** The messages of a query to the real Claude Code, whose tools are its own. */
export async function askClaude(
  dispatcher: HookDispatcher,
  replies: readonly ClaudeReply[],
  options: object,
  {
    others = {},
    prompt = 'Do it.',
    env: more = {},
    sdkSpans = 'omit',
    sdk: name = NAME,
    onMessage,
  }: Asking = {},
): Promise<Untyped[]> {
  const sdk: Untyped = await import(name)
  const server = await scriptedClaude({ contract: replies, ...others })
  const { home, env } = homeOf()
  const query: Untyped = observeClaudeAgent(sdk.query, { dispatcher, sdkSpans })
  const messages: Untyped[] = []
  try {
    const all = { cwd: home, model: 'contract', settingSources: [], ...options }
    const run = query({ prompt, options: { env: { ...env(server.baseURL), ...more }, ...all } })
    for await (const message of run) {
      messages.push(message)
      onMessage?.(message, run)
    }
  } finally {
    await server.close()
    await dispatcher.drain()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
  return messages
}

/** What a user says in a streamed input. */
export const saying = (content: string) => ({
  type: 'user',
  message: { role: 'user', content },
  parent_tool_use_id: null,
  session_id: '',
})
