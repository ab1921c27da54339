import { AsyncLocalStorage } from 'node:async_hooks'
import { isStrandsInterrupt } from '../../adapter/interrupts.ts'
import { RunSuspended } from '../../dispatcher/calls/suspended.ts'
import { tellsFailure } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolOutcome } from '../../dispatcher/index.ts'
import { toContent } from '../../internal/json.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { isError } from '../../internal/realms.ts'
import { asName } from '../../wire/reading.ts'
import type { SafeCalls } from '../safe/calls.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import { relay } from '../sdk-loop/relay.ts'
import type { AgentRun, AskedHuman } from './agent-run.ts'
import { messageClass, resultOf, textOf } from './messages.ts'
import type { Stage, StrandsBlock, StrandsEvent, ToolContext } from './sdk.ts'

type Call = SafeToolCall<unknown, unknown>
type Result = { readonly result: StrandsBlock }

/** A tool that is at work, and of which run it is. */
interface AtWork {
  readonly agent: AgentRun
  readonly ctx: ToolContext
}

const atWork = new AsyncLocalStorage<AtWork>()

export function toolAtWork(): AtWork | undefined {
  return atWork.getStore()
}

/** One tool call, around the tool itself: what other middleware made of the arguments is decided on. */
export async function* callTool(
  agent: AgentRun,
  ctx: ToolContext,
  perform: Stage<ToolContext, StrandsBlock>,
): AsyncGenerator<StrandsEvent, Result> {
  const call = openCall(await agent.run.calls(), ctx)
  const decision = await call.decided
  if (decision.state === 'waiting') ask(agent, ctx, decision.request?.id)
  const made = decision.state === 'run' ? yield* runTool(agent, call, ctx, decision.args, perform) : undefined
  return { result: resultBlock(ctx, await call.outcome, made) }
}

/** A call that the code of another tool makes, which is at work: nobody can leave it and go on with it. */
export async function* streamInner(
  { agent, ctx: outer }: AtWork,
  calls: SafeCalls,
  asked: Pick<ToolContext, 'tool' | 'toolUse'>,
  perform: Stage<ToolContext, StrandsBlock>,
): AsyncGenerator<StrandsEvent, StrandsBlock> {
  const ctx = { ...outer, ...asked }
  const call = openCall(calls, ctx, false)
  const decision = await call.decided
  const made = decision.state === 'run' ? yield* runTool(agent, call, ctx, decision.args, perform) : undefined
  return resultBlock(ctx, await call.outcome, made)
}

/** The same where the tool is to give its value. @throws what it threw, or why it was refused. */
export async function invokeInner(
  { agent, ctx: outer }: AtWork,
  calls: SafeCalls,
  asked: Pick<ToolContext, 'tool' | 'toolUse'>,
  perform: (input: unknown) => unknown,
): Promise<unknown> {
  const ctx = { ...outer, ...asked }
  let interrupt: unknown
  const outcome = await openCall(calls, ctx, false).run(async (input) => {
    try {
      return await atWork.run({ agent, ctx }, () => perform(input))
    } catch (error) {
      if (!isStrandsInterrupt(error)) throw error
      interrupt = error
      throw agent.run.isCalled ? error : new RunSuspended()
    }
  })
  if (interrupt !== undefined) throw interrupt
  if (outcome.state === 'errored') throw outcome.error
  if ('result' in outcome) return outcome.result
  throw new Error(outcome.toToolMessage().content)
}

function openCall(
  calls: SafeCalls,
  { tool, toolUse }: Pick<ToolContext, 'tool' | 'toolUse'>,
  parkable = true,
): Call {
  const { description, toolSpec, mcpClient, agent: asked } = tool ?? {}
  const { inputSchema, outputSchema } = toolSpec ?? {}
  return calls.openToolCall<unknown, unknown>({
    // A hook may have put another in the place of the one that was asked for.
    apiName: tool?.name ?? toolUse.name,
    args: toolUse.input,
    // As Strands does that runs it.
    outlastsAbort: true,
    parkable,
    ...(asked !== undefined && { source: 'agent' }),
    ...(mcpClient !== undefined && {
      source: 'mcp',
      identifier: asName(mcpClient.serverVersion?.name) ?? 'mcp',
    }),
    ...defined({
      toolCallId: toolUse.toolUseId,
      description: asName(description),
      inputSchema: isRecord(inputSchema) ? inputSchema : undefined,
      outputSchema: isRecord(outputSchema) ? outputSchema : undefined,
    }),
  })
}

async function* runTool(
  agent: AgentRun,
  call: Call,
  ctx: ToolContext,
  input: unknown,
  perform: Stage<ToolContext, StrandsBlock>,
): AsyncGenerator<StrandsEvent, StrandsBlock | undefined> {
  let over = false
  try {
    await call.begins()
    // What came of another call of the turn may have stopped the run.
    if (call.refused !== undefined) {
      over = true
      return undefined
    }
    const effective = { ...ctx, toolUse: { ...ctx.toolUse, input } }
    const enter = <T>(step: () => T) => call.enter(() => atWork.run({ agent, ctx }, step))
    const made = yield* relay(perform(effective), enter, call.outcome)
    over = true
    // Its run has ended: nobody waits for the tool.
    if (made === undefined) return undefined
    const { status, error, content = [] } = made.result
    const told =
      status === 'error' ? call.fail(error ?? new Error(textOf(content))) : call.settle(resultOf(content))
    // It may have ended before, with its run or its step.
    await told.catch(() => {})
    return made.result
  } catch (error) {
    over = true
    const waits = isStrandsInterrupt(error)
    if (waits) agent.run.waitingFor = 'human'
    // The run of an agent that is a tool ends here: its agent goes on without the answer.
    await call.fail(waits && !agent.run.isCalled ? new RunSuspended() : error).catch(() => {})
    if (waits) throw error
    return undefined
  } finally {
    if (!over) {
      call.fail(new DOMException('The tool was left before its end.', 'AbortError')).catch(() => {})
    }
  }
}

/** Stops the agent until somebody has answered. The SDK does it by a throw, once the calls beside this one have ended. */
function ask(
  agent: AgentRun,
  { tool, toolUse, interrupt }: ToolContext,
  requestId: string | undefined,
): never {
  agent.run.waitingFor = 'human'
  const reason: AskedHuman = {
    hookspan: 'approval',
    apiName: tool?.name ?? toolUse.name,
    args: toolUse.input,
    ...defined({ requestId }),
  }
  // Where it was invoked again before there was an answer, the question before has been answered with nothing.
  for (let asked = 1; asked <= MAX_QUESTIONS; asked++) {
    interrupt({ name: asked === 1 ? 'hookspan' : `hookspan ${asked}`, reason })
  }
  throw new Error(`Tool "${toolUse.name}" waits for a human, and the agent went on without an answer.`)
}

const MAX_QUESTIONS = 1_000

/** What the model is told: the tool's own result, unless something else came of the call. */
function resultBlock(
  { agent, toolUse: { toolUseId } }: ToolContext,
  outcome: ToolOutcome,
  made: StrandsBlock | undefined,
): StrandsBlock {
  if (made !== undefined && outcome.state === 'errored') return made
  if (made !== undefined && outcome.state === 'completed' && isSame(outcome.result, made)) return made
  const told = outcome.toToolMessage().content
  const isResult = 'result' in outcome
  const content =
    isResult && isRecord(outcome.result) && toContent(outcome.result) === told
      ? { json: outcome.result }
      : { text: told }
  const status = isResult && !tellsFailure(outcome) ? 'success' : 'error'
  const toolResult = { toolUseId, status, content: [content] }
  const [block] = messageClass(agent.messages).fromMessageData({
    role: 'user',
    content: [{ toolResult }],
  }).content
  const error = outcome.state === 'errored' ? outcome.error : undefined
  return Object.assign(block as StrandsBlock, isError(error) && { error })
}

function isSame(result: unknown, { content = [] }: StrandsBlock): boolean {
  const own = resultOf(content)
  return result === own || toContent(result) === toContent(own)
}
