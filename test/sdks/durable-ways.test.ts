/** Ways in which SDKs run tools beside a model's turns: in a durable loop, whose process dies behind each record of it. */
import type { ContractTool } from 'hookspan/adapter/contract'
import { hookspanPlugin } from 'hookspan/google-adk'
import { observeMastra } from 'hookspan/mastra'
import { observeStrands } from 'hookspan/strands'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { dyingBehindEach, type Way } from '../adapter/durable/dying.ts'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { claudeAgentSubject } from './subjects/claude-agent.ts'
import { copilotSubject } from './subjects/copilot.ts'
import { ScriptedLlm } from './subjects/google-adk.ts'
import type { Untyped } from './support/sdks.ts'

const NAMES = [
  '@google/adk',
  '@strands-agents/sdk',
  '@mastra/core',
  '@mastra/core/agent',
  '@mastra/core/memory',
  '@mastra/core/storage',
  '@mastra/core/tools',
]
const [adk, strands, ...ofMastra]: Untyped[] = await Promise.all(NAMES.map((name) => import(name)))
const mastra: Untyped = Object.assign({}, ...ofMastra)
const parameters = z.object({ q: z.string() })
const ASKS = { toolCalls: [{ id: 'c1', name: 'search', args: { q: 'a' } }] }
const DONE = { content: 'done' }

const searching =
  (ran: string[]) =>
  async ({ q }: { q: string }) => {
    ran.push(`search ${q}`)
    return `found ${q}`
  }

async function runAdk({ dispatcher, signal }: { dispatcher: Untyped; signal: AbortSignal }, agent: Untyped) {
  const plugins = [hookspanPlugin({ dispatcher })]
  const runner = new adk.InMemoryRunner({ agent, appName: 'test', plugins })
  const session = await runner.sessionService.createSession({ appName: 'test', userId: 'u' })
  const newMessage = { role: 'user', parts: [{ text: '{"q":"a"}' }] }
  const said: string[] = []
  for await (const event of runner.runAsync({
    userId: 'u',
    sessionId: session.id,
    newMessage,
    abortSignal: signal,
  })) {
    if (event.errorMessage) said.push(`error ${event.errorMessage}`)
    for (const { text, functionResponse } of event.content?.parts ?? [])
      said.push(text ?? JSON.stringify(functionResponse?.response))
  }
  return said.join(' | ')
}

const adkTool = (ran: string[]) =>
  new adk.FunctionTool({ name: 'search', description: 'Searches.', parameters, execute: searching(ran) })

const toolNode: Way = (attempt) =>
  runAdk(
    attempt,
    new adk.Workflow({ name: 'w', edges: [[adk.START, new adk.ToolNode(adkTool(attempt.ran))]] }),
  )

const toolNodeAndAgent: Way = (attempt) => {
  const tool = adkTool(attempt.ran)
  const agent = new adk.LlmAgent({
    name: 'second',
    model: new ScriptedLlm([ASKS, DONE].slice(attempt.asked)),
    tools: [tool],
  })
  return runAdk(
    attempt,
    new adk.Workflow({
      name: 'both',
      edges: [[adk.START, new adk.ToolNode(tool, { name: 'first' }), agent]],
    }),
  )
}

/** @param inBackground where the tool runs beside the run, as the SDK would. */
const untilIdle =
  (inBackground: boolean): Way =>
  async ({ dispatcher, signal, asked, ran }) => {
    const search = mastra.createTool({
      id: 'search',
      description: 'Searches.',
      inputSchema: parameters,
      background: { enabled: inBackground },
      execute: searching(ran),
    })
    const agent = observeMastra<Untyped>(
      new mastra.Agent({
        id: 's',
        name: 's',
        instructions: '',
        model: scripted([ASKS, DONE].slice(asked)),
        tools: { search },
        memory: new mastra.MockMemory(),
      }),
      { dispatcher },
    )
    new mastra.Mastra({
      agents: { s: agent },
      storage: new mastra.InMemoryStore(),
      logger: false,
      backgroundTasks: { enabled: true },
    })
    const result = await agent.stream('hi', {
      memory: { thread: 't', resource: 'r' },
      untilIdle: true,
      abortSignal: signal,
    })
    let text = ''
    for await (const piece of result.textStream) text += piece
    return text
  }

class Scripted extends strands.Model {
  readonly replies: Untyped[]
  constructor(replies: Untyped[]) {
    super()
    this.replies = replies
  }
  getConfig() {
    return { modelId: 'contract' }
  }
  updateConfig() {}
  async *stream() {
    const reply = this.replies.shift()
    const calls = reply?.toolCalls
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    yield {
      type: 'modelContentBlockStartEvent',
      ...(calls && { start: { type: 'toolUseStart', name: 'search', toolUseId: 'c1' } }),
    }
    yield {
      type: 'modelContentBlockDeltaEvent',
      delta: calls ? { type: 'toolUseInputDelta', input: '{"q":"a"}' } : { type: 'textDelta', text: 'done' },
    }
    yield { type: 'modelContentBlockStopEvent' }
    yield { type: 'modelMessageStopEvent', stopReason: calls ? 'toolUse' : 'endTurn' }
  }
}

const inBackground =
  (waitForCompletion: boolean): Way =>
  async ({ dispatcher, signal, asked, ran }) => {
    const search = strands.tool({
      name: 'search',
      description: 'Searches.',
      inputSchema: parameters,
      callback: searching(ran),
    })
    const model = new Scripted([ASKS, DONE, DONE, DONE].slice(asked))
    const agent = observeStrands<Untyped>(
      new strands.Agent({
        model,
        tools: [search],
        printer: false,
        backgroundTasks: { always: ['search'], waitForCompletion },
      }),
      { dispatcher },
    )
    await agent.invoke('hi', { cancelSignal: signal })
    return 'done'
  }

it.each([
  ['a node of a workflow of ADK that is a tool', toolNode, 1],
  ['a node that is a tool, before an agent that has it, too', toolNodeAndAgent, 2],
  ['a stream of Mastra that is read until it is idle', untilIdle(false), 1],
] as const)(
  '%s goes on behind whatever was kept, and behind a human',
  async (_name, way, calls) => {
    for (const asks of [false, true]) {
      let records = 0
      let unknown = 0
      for await (const { where, died, last, ran, events, pending } of dyingBehindEach(way, asks)) {
        if (died) records++
        expect(last, where).toMatchObject({ reason: 'done', totals: { toolCalls: calls } })
        expect([where, pending]).toEqual([where, 0])
        const told = events.flatMap((event: Untyped) =>
          event.hookType === 'afterToolCall' ? [event.outcome] : [],
        )
        expect([where, told.length]).toEqual([where, calls])
        const isUnknown = told.includes('denied')
        if (isUnknown) unknown++
        // One that may have run is not run again.
        expect([where, ran.length]).toEqual([where, isUnknown ? calls - 1 : calls])
      }
      // Behind the record that says that it is at work, and behind the one before a human's yes to it is spent.
      expect(unknown).toBe(asks ? 2 * calls : calls)
      expect(records).toBeGreaterThan(3)
    }
  },
  60_000,
)

it.each([
  ['of Mastra', untilIdle(true), 'has the tool "search" of Mastra, which may run in the background'],
  ['of Strands, which is waited for', inBackground(true), 'has tools of Strands that run in the background'],
  ['of Strands', inBackground(false), 'has tools of Strands that run in the background'],
])(
  'a tool in the background %s is refused: it would be run again, or be lost',
  async (_name, way, why) => {
    for (const asks of [false, true]) {
      for await (const { where, last, ran } of dyingBehindEach(way, asks)) {
        const error = { type: 'NOT_CAPABLE', message: expect.stringContaining(why) }
        expect(last, where).toMatchObject({ reason: 'error', error, totals: { llmCalls: 0 } })
        expect([where, ...ran]).toEqual([where])
      }
    }
  },
  60_000,
)

it.each([claudeAgentSubject, copilotSubject])(
  'a run of $name is refused, whose model is asked in another process: its tools would be run again',
  async (subject) => {
    const way: Way = async ({ dispatcher, signal, ran }) => {
      const search: ContractTool = {
        name: 'search',
        description: 'Searches.',
        parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
        execute: searching(ran),
      }
      const given = { agentName: 'shop', prompt: 'hi', replies: [ASKS, DONE], tools: [search] }
      return (await subject.run({ dispatcher, signal, ...given })).content
    }
    for await (const { where, last, ran } of dyingBehindEach(way, false)) {
      const error = {
        type: 'NOT_CAPABLE',
        message: expect.stringContaining(`begins a run of \`${subject.name}\``),
      }
      expect(last, where).toMatchObject({ reason: 'error', error, totals: { llmCalls: 0 } })
      expect([where, ...ran]).toEqual([where])
    }
  },
  60_000,
)
