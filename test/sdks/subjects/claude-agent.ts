import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ParkedOperation } from 'hookspan'
import type {
  ContractOutcome,
  ContractReply,
  ContractRun,
  ContractSubject,
  ContractTool,
} from 'hookspan/adapter/contract'
import { CLAUDE_AGENT_CAPABILITIES, observeClaudeAgent, parkedRun, runWith } from 'hookspan/claude-agent'
import { type ScriptedStep, startScriptedServer } from 'hookspan/mock'
import { z } from 'zod'
import { expertTools, saysOf, stepOf, toldAsked } from '../../adapter/subjects/model.ts'
import type { Untyped } from '../support/sdks.ts'

const NAME = '@anthropic-ai/claude-agent-sdk'

/** A folder in which Claude Code keeps its sessions, and nothing of whoever runs this. */
export function homeOf(run: { readonly home?: string } = {}): {
  home: string
  env(baseURL: string): Untyped
} {
  const home = run.home ?? mkdtempSync(join(tmpdir(), 'hookspan-claude-'))
  const env = (baseURL: string) => ({
    PATH: process.env.PATH,
    HOME: home,
    CLAUDE_CONFIG_DIR: home,
    ANTHROPIC_BASE_URL: baseURL.replace(/\/v1$/, ''),
    ANTHROPIC_API_KEY: 'k',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_MAX_RETRIES: '0',
  })
  return { home, env }
}

/** What only the tests of this SDK have a model say. */
export type ClaudeReply =
  | ContractReply
  | Pick<ScriptedStep, 'error'>
  /** A stream of which its client has read everything before it breaks off. */
  | Pick<ScriptedStep, 'content' | 'toolCalls' | 'cutAfterChunks' | 'chunkDelayMs'>
  /** Says nothing before its client has left. */
  | { readonly whenAsked: () => void }

/** A server that says this to whoever asks with tools or for this model, in turn; what else Claude Code asks for, it says nothing. */
export async function scriptedClaude(
  replies: Readonly<Record<string, readonly ClaudeReply[]>>,
  asked?: (model: string, request: object) => void,
) {
  const left = Object.fromEntries(Object.entries(replies).map(([model, said]) => [model, [...said]]))
  return startScriptedServer({
    respond: async ({ body }, { signal }): Promise<ScriptedStep | undefined> => {
      asked?.(String(body.model), body)
      const next = left[String(body.model)]?.shift()
      if (next === undefined) return undefined
      if ('whenAsked' in next) {
        next.whenAsked()
        if (!signal.aborted) await once(signal, 'abort')
        return { content: 'too late' }
      }
      return 'error' in next || 'cutAfterChunks' in next ? next : stepOf(next as ContractReply, 3)
    },
  })
}

/** Tools are named by their server. */
const served = (replies: readonly ContractReply[]): ContractReply[] =>
  replies.map(({ toolCalls, ...reply }) => ({
    ...reply,
    ...(toolCalls && {
      toolCalls: toolCalls.map((call) => ({ ...call, name: `mcp__contract__${call.name}` })),
    }),
  }))

interface Saved {
  readonly parked: ParkedOperation
  readonly session: string
  readonly home: string
}

/** The real package and the real Claude Code, on a scripted server. */
export const claudeAgentSubject: ContractSubject = {
  name: 'claude-agent',
  capabilities: CLAUDE_AGENT_CAPABILITIES,
  readsItself: true,
  async run(run) {
    const sdk: Untyped = await import(NAME)
    const { dispatcher, agentName } = run
    const { subAgent, replies, state } = run
    const said = {
      contract: served(replies),
      ...(subAgent && { [subAgent.name]: served(subAgent.replies) }),
    }
    const server = await scriptedClaude(said, (model, request) => toldAsked(run, model, request))
    const saved = state as Saved | undefined
    const { home, env } = homeOf(saved)
    const ask = (prompt: string | undefined, model: string, more: object = {}) => {
      const name = model === 'contract' ? agentName : model
      const query: Untyped = observeClaudeAgent(sdk.query, { dispatcher, agentName: name })
      return query({
        prompt,
        options: {
          env: env(server.baseURL),
          cwd: home,
          model,
          settingSources: [],
          tools: [],
          ...more,
        },
      })
    }
    try {
      const options = {
        ...serversOf(run, sdk, ask),
        ...(run.signal && { abortController: controllerOf(run.signal) }),
      }
      const messages = saved
        ? runWith({ resume: saved.parked }, () =>
            ask(undefined, 'contract', { ...options, resume: saved.session }),
          )
        : ask(run.prompt, 'contract', options)
      return await outcomeOf(run, messages, home)
    } finally {
      await server.close()
      if (saved !== undefined) rmSync(home, { recursive: true, force: true })
    }
  },
}

async function outcomeOf(run: ContractRun, messages: Untyped, home: string): Promise<ContractOutcome> {
  let result: Untyped
  try {
    for await (const message of messages) if (message.type === 'result') result = message
  } catch (error) {
    if (run.signal?.aborted) return { status: 'interrupted' }
    throw error
  }
  const parked = await parkedRun(messages)
  if (parked !== undefined)
    return { status: 'waiting', state: { parked, session: result.session_id, home } satisfies Saved }
  return run.signal?.aborted ? { status: 'interrupted' } : { status: 'done', content: result.result }
}

function controllerOf(signal: AbortSignal): AbortController {
  const controller = new AbortController()
  signal.addEventListener('abort', () => controller.abort(signal.reason))
  return controller
}

function serversOf(run: ContractRun, sdk: Untyped, ask: Untyped): Untyped {
  const { tools, subAgent } = run
  const textResult = (text: string) => ({ content: [{ type: 'text', text }] })
  const given = (of: readonly ContractTool[]) =>
    of.map(({ name, description, execute }) =>
      sdk.tool(name, description, { q: z.string() }, async ({ q }: { q: string }, extra: Untyped) =>
        textResult(await execute({ q }, extra?.signal ? { signal: extra.signal } : {})),
      ),
    )
  const servers = (tools: Untyped, names: readonly string[]) => ({
    mcpServers: { contract: sdk.createSdkMcpServer({ name: 'contract', tools }) },
    allowedTools: names.map((name) => `mcp__contract__${name}`),
  })
  const expert =
    subAgent &&
    sdk.tool(
      subAgent.name,
      saysOf(subAgent.name),
      { instruction: z.string() },
      async ({ instruction }: Untyped) => {
        const own = expertTools(run)
        const names = own.map(({ name }) => name)
        let said = ''
        for await (const message of ask(
          instruction,
          subAgent.name,
          own.length > 0 ? servers(given(own), names) : {},
        )) {
          if (message.type === 'result') said = message.result
        }
        return textResult(said)
      },
    )
  const all = [...given(tools), ...(expert ? [expert] : [])]
  const names = [...tools.map(({ name }) => name), ...(subAgent ? [subAgent.name] : [])]
  return servers(all, names)
}
