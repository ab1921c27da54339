import { misfitOf, problemBySchema } from '../../adapter/changed-arguments.ts'
import { answerIn } from '../../dispatcher/calls/called-agent.ts'
import { CallRefused, RunSuspended } from '../../dispatcher/calls/suspended.ts'
import type { ToolCallInit, ToolOutcome } from '../../dispatcher/index.ts'
import { untilAborted } from '../../internal/async.ts'
import { jsonIn, toContent } from '../../internal/json.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { isLocked } from '../replace.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import { observeGuardrails, refusedByGuardrail } from './guardrails.ts'
import { patches } from './patches.ts'
import { callsHere, currentFrame, NotRun, type Place, runIn, type ToolFrame } from './place.ts'
import { argumentsOf, isUnchecked, type Registrations, registerAlike, serverOf } from './registrations.ts'
import type { Agent, AnyTool, FunctionTool, ToolCallDetails } from './sdk.ts'
import { failureOf, watched } from './swallowed-failure.ts'

/** Where a tool is at home. */
export interface ToolHome {
  readonly source: 'local' | 'mcp' | 'agent'
  readonly identifier: string
}

/** Where the SDK does not say it, what is none of the agent's own tools came from one of its MCP servers. */
export function homeOf(agent: Agent, tool: FunctionTool): ToolHome {
  if (isAgentTool(tool)) return { source: 'agent', identifier: 'local' }
  const known = serverOf(agent, tool)
  if (known !== undefined) return { source: 'mcp', identifier: known }
  const { tools = [], mcpServers = [] } = agent
  if (mcpServers.length === 0 || tools.includes(tool)) return { source: 'local', identifier: 'local' }
  const [server] = mcpServers
  return { source: 'mcp', identifier: mcpServers.length === 1 ? (server?.name ?? 'mcp') : 'mcp' }
}

/** Made by `asTool()`: what the agent does in it can be listened to. */
function isAgentTool(tool: AnyTool): boolean {
  return typeof (tool as { on?: unknown }).on === 'function'
}

type Invoke = FunctionTool['invoke']

/** Of our functions, the one of the tool itself: an object that was copied with ours in it is not observed twice. */
const originals = new WeakMap<object, unknown>()

/**
 * Makes the tool's calls those of the run that makes them, in the tool itself: the SDK knows tools by their identity. A
 * call that is made outside of an observed run goes to the tool as before.
 *
 * @returns false for one that is locked.
 */
export function observeTool(tool: FunctionTool, home: ToolHome, registrations: Registrations): boolean {
  observeGuardrails(tool)
  if (patches.has(tool)) return true
  if (isLocked(tool, 'invoke') || (tool.needsApproval !== undefined && isLocked(tool, 'needsApproval')))
    return false
  const invoke = own(tool.invoke)
  const standIn: Invoke = function (this: unknown, context, input, details, ...more: unknown[]) {
    const call = (text: string, given: ToolCallDetails | undefined) =>
      invoke.apply(tool, [context, text, given, ...more] as unknown as Parameters<Invoke>)
    if (currentFrame() === undefined) return call(input, details)
    return invoked(tool, home, registrations, input, details, call)
  }
  const needsApproval = tool.needsApproval === undefined ? undefined : own(tool.needsApproval)
  replaced(tool, 'invoke', invoke, standIn, registrations)
  if (needsApproval === undefined) return true
  const asks: NonNullable<FunctionTool['needsApproval']> = (context, args, id) => {
    const ask = () => needsApproval.call(tool, context, args, id)
    const place = currentFrame()?.place
    return place === undefined ? ask() : decidedFirst(place, tool, home, { context, args, id }, ask)
  }
  replaced(tool, 'needsApproval', needsApproval, asks, registrations)
  return true
}

function own<F extends object>(given: F): F {
  return (originals.get(given) as F | undefined) ?? given
}

function replaced<K extends 'invoke' | 'needsApproval'>(
  tool: FunctionTool,
  key: K,
  original: NonNullable<FunctionTool[K]>,
  standIn: FunctionTool[K] & object,
  registrations: Registrations,
): void {
  originals.set(standIn, original)
  registerAlike(registrations, original, standIn)
  patches.replace(tool, key, standIn)
}

export function initOf(
  tool: FunctionTool,
  home: ToolHome,
  args: unknown,
  id: string | undefined,
): ToolCallInit<unknown> {
  const { name, description, parameters, outputSchema } = tool
  return {
    ...defined({ toolCallId: id }),
    ...home,
    apiName: name,
    args,
    // The SDK waits for the tools that are at work.
    outlastsAbort: true,
    ...(description !== undefined && description !== '' && { description }),
    ...(isRecord(parameters) && { inputSchema: parameters }),
    ...(isRecord(outputSchema) && { outputSchema }),
  }
}

/**
 * The SDK asks whether the call needs a human, which is the one moment at which it can stop for one. Gates decide now, also on
 * a call that the tool itself wants a human for: hooks and mocks have their say once that human has had theirs.
 */
async function decidedFirst(
  place: Place,
  tool: FunctionTool,
  home: ToolHome,
  { context, args, id }: { context: unknown; args: unknown; id: string | undefined },
  ask: () => Promise<boolean>,
): Promise<boolean> {
  // The SDK asks once more for a call that a human has approved, and makes it whatever it is told.
  if (place.approved.has(id)) return ask()
  // It was taken up when the run was.
  const held = place.take(id, () => args)?.call
  place.made.add(id)
  const known = place.step()
  const step = known instanceof Promise ? await known : known
  const asksFirst = held === undefined && (await ask())
  if (held === undefined && (await refusedByGuardrail(place, tool, context, id))) {
    await step.failedCall(initOf(tool, home, args, id), new NotRun())
    return asksFirst
  }
  const call = held ?? step.openToolCall<unknown, unknown>({ ...initOf(tool, home, args, id), asksFirst })
  const decided = call.decision ?? (await call.decided)
  if (decided.state !== 'waiting') {
    place.hold(id, args, call)
    return false
  }
  if (!asksFirst || decided.request !== undefined) return true
  place.askHuman(step, { identifier: home.identifier, toolCallId: id ?? '', apiName: tool.name, args })
  return true
}

async function invoked(
  tool: FunctionTool,
  home: ToolHome,
  registrations: Registrations,
  input: string,
  details: ToolCallDetails | undefined,
  invoke: (input: string, details: ToolCallDetails | undefined) => Promise<unknown>,
): Promise<unknown> {
  const frame = currentFrame() as NonNullable<ReturnType<typeof currentFrame>>
  const { place } = frame
  const id = details?.toolCall?.callId
  // Read where nobody has yet: a schema is the user's code.
  const read = () => argumentsOf(tool, input, registrations)
  // A tool that another tool's body invokes by itself is that call's.
  const held = frame.tool === undefined ? place.take(id, read) : undefined
  const args = held === undefined ? read() : held.args
  if (frame.tool === undefined) place.made.add(id)
  const call =
    held?.call ??
    (frame.tool === undefined ? await place.step() : callsHere(frame)).openToolCall<unknown, unknown>({
      ...initOf(tool, home, args, id),
      // The SDK is past the moment at which it stops for a human, as after an approval for good; a tool that makes it is at work.
      parkable: false,
    })
  const decided = call.decision ?? (await call.decided)
  if (decided.state !== 'run') return answerOf(decided, tool)
  // What a schema made of the text may be nothing that it takes: where nobody changed it, it is given the text.
  const changed = place.runsWith(id, args, decided.args)
  if (changed !== undefined && isUnchecked(tool, registrations)) {
    const misfit = await misfitOf((value) => problemBySchema(tool.parameters, value), args, decided.args)
    if (misfit !== undefined) return answerOf(await call.fail(new Error(misfit)), tool)
  }
  return new Body(place, call, tool, () => invoke(changed ?? input, details), details?.signal).run()
}

/** What the SDK is given as the tool's output. */
function answerOf(outcome: ToolOutcome<unknown>, { outputSchema }: FunctionTool): unknown {
  const { content } = outcome.toToolMessage()
  if ('result' in outcome && toContent(outcome.result) === content) return outcome.result
  // Of a tool that declares what it gives, the SDK makes a text into JSON once more.
  return outputSchema === undefined ? content : jsonIn(content, content)
}

/** The tool's own function, inside of its call. */
class Body {
  readonly #place: Place
  readonly #call: SafeToolCall<unknown, unknown>
  readonly #tool: FunctionTool
  readonly #invoke: () => Promise<unknown>
  readonly #signal: AbortSignal | undefined
  readonly #frame: ToolFrame
  #running: Promise<unknown> | undefined
  #given: { readonly value: unknown } | undefined

  constructor(
    place: Place,
    call: SafeToolCall<unknown, unknown>,
    tool: FunctionTool,
    invoke: () => Promise<unknown>,
    signal: AbortSignal | undefined,
  ) {
    this.#place = place
    this.#call = call
    this.#tool = tool
    this.#frame = { isAgent: isAgentTool(tool) }
    this.#invoke = invoke
    this.#signal = signal
  }

  async run(): Promise<unknown> {
    const outcome = await this.#call.run(() => this.#untilCut(this.#body()))
    if (outcome.state === 'errored') {
      // As the SDK has it: the tool's own word on its failure, or its throw.
      return this.#given === undefined
        ? await (this.#running ?? Promise.reject(outcome.error))
        : this.#given.value
    }
    if (outcome.state === 'waiting') return this.#given?.value ?? ''
    if (outcome.state === 'completed' && outcome.result === this.#given?.value) return outcome.result
    return answerOf(outcome, this.#tool)
  }

  /** The tool has a time limit of its own, after which the SDK does not wait for it. */
  #untilCut(body: Promise<unknown>): Promise<unknown> {
    return untilAborted(body, this.#signal).catch((error: unknown) => {
      if (this.#place.op.signal?.aborted) return body
      throw error
    })
  }

  async #body(): Promise<unknown> {
    const frame = { place: this.#place, tool: this.#frame }
    this.#running = runIn(frame, () => watched(this.#invoke))
    let failure: { readonly error: unknown } | undefined
    try {
      const value = await this.#running
      this.#given = { value }
      failure = failureOf(this.#frame, value)
    } catch (error) {
      failure = { error }
    }
    const { isAgent, refused, parked, answered } = this.#frame
    if (parked) throw new RunSuspended()
    if (answered !== undefined) {
      this.#given = { value: answerIn(answered.value) }
      return this.#given.value
    }
    // Who runs an agent by hand may have an answer of its own.
    if (refused instanceof CallRefused && (isAgent || failure !== undefined)) throw refused
    if (failure === undefined) return this.#given?.value
    throw failure.error
  }
}
