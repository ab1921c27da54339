import { HookDispatcher, type Plugin } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { observeOpenAI } from 'hookspan/openai'
import { traceHooks } from 'hookspan/tracing'
import { setUpTelemetry } from '../harness/telemetry.ts'
import type { Workload } from '../harness/types.ts'
import { handRun } from './agent-run-hand.ts'
import {
  callTool,
  DESCRIPTION,
  findOrder,
  INSTRUCTIONS,
  loop,
  MODEL,
  newClient,
  newMessages,
  PARAMETERS,
  PROMPT,
  turn,
  workload,
} from './agent-run-loop.ts'

function bare(): Workload {
  const client = newClient()
  return workload(() => loop({ ask: (body) => client.chat.completions.create(body), callTool }))
}

function observed(captureContent: boolean, stepSpans: boolean): Workload {
  const { tracer, spans } = setUpTelemetry()
  return workload(observedRun(traceHooks({ tracer, captureContent, stepSpans })), spans)
}

/** The loop with an observed client, and its steps and tool calls told to an operation. */
export function observedRun(tracing: Plugin): () => Promise<string> {
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  const client = observeOpenAI(newClient(), { dispatcher })
  return async () => {
    const operation = dispatcher.startOperation({ agentName: 'support' })
    const messages = newMessages()
    for (let done = false; !done; ) {
      done = await operation.step((step) =>
        turn(messages, {
          ask: (body) => client.chat.completions.create(body),
          callTool: async ({ id, function: { name, arguments: args } }) => {
            const init = { toolCallId: id, apiName: name, args: JSON.parse(args) }
            return (await step.toolCall(init, findOrder)).toToolMessage().content
          },
        }),
      )
    }
    const content = messages.at(-1)!.content as string
    await operation.complete({ reason: 'done', content })
    return content
  }
}

function byHand(content: boolean, steps: boolean): Workload {
  const { tracer, spans } = setUpTelemetry()
  return workload(handRun(tracer, content, steps), spans)
}

function agent(captureContent: boolean, stepSpans: boolean): Workload {
  const { tracer, spans } = setUpTelemetry()
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer, captureContent, stepSpans }))
  const client = newClient()
  const support = {
    name: 'support',
    instructions: INSTRUCTIONS,
    model: MODEL,
    temperature: 0,
    tools: [{ name: 'find_order', description: DESCRIPTION, parameters: PARAMETERS, execute: findOrder }],
  }
  return workload(async () => {
    const run = await execAgent({ agent: support, prompt: PROMPT, client, dispatcher })
    return run.content
  }, spans)
}

export const ways = {
  bare,
  hand: () => byHand(false, false),
  'hand-steps': () => byHand(false, true),
  'hand-content': () => byHand(true, false),
  hookspan: () => observed(false, false),
  'hookspan-steps': () => observed(false, true),
  'hookspan-content': () => observed(true, false),
  'hookspan-steps-content': () => observed(true, true),
  'exec-agent': () => agent(false, false),
  'exec-agent-steps': () => agent(false, true),
}
