import { callIfFit } from '../../adapter/changed-arguments.ts'
import { RunSuspended } from '../../dispatcher/calls/suspended.ts'
import { ToolResult } from '../../dispatcher/calls/tool-outcome.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined, isRecord, readFields } from '../../internal/objects.ts'
import { isError } from '../../internal/realms.ts'
import { asName } from '../../wire/reading.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import { refuseInDurableRun } from '../sdk-run/durable-limits.ts'
import { isAtWork, WAITS, whileAtWork } from './inner-calls.ts'
import { takenBy } from './input-schema.ts'
import { MastraRun, type ToolHome } from './mastra-run.ts'
import type { MastraAgent, MastraBackground, MastraTool, MastraToolOptions, MastraTools } from './sdk.ts'
import { saidBeside, told } from './words.ts'

type Execute = NonNullable<MastraTool['execute']>

/**
 * The tools of a run, each of whose calls is the run's. What has no function of its own is run by the client or by the
 * model's provider, where nobody is asked: a guard that is meant for it is refused where the model is asked.
 */
export function observeTools(run: MastraRun, tools: MastraTools): MastraTools {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      if (typeof tool?.execute !== 'function') return [name, tool]
      run.tools.add(name)
      return [name, observeTool(run, name, tool)]
    }),
  )
}

/** What runs a tool whose calls are a run's. */
const seen = new WeakSet<Execute>()

export function isObserved({ execute }: MastraTool): boolean {
  return execute !== undefined && seen.has(execute)
}

/** One of them, as the loop has it. */
export function observeTool(run: MastraRun, name: string, tool: MastraTool): MastraTool {
  const execute = tool.execute as Execute
  const home = run.homeOf(name)
  const observed: Execute = (input, options = {}) => {
    // A run that goes on in the process in which it was suspended is given the tools of its first part.
    const current = MastraRun.current ?? run
    if (isAtWork({ run: current, name, toolCallId: options.toolCallId })) return execute(input, options)
    return new Call(current, name, own, execute, home).make(input, options)
  }
  const own = { ...tool, execute: observed }
  seen.add(observed)
  return own
}

/** Notes of which MCP servers tools are, by the names that they have in the run. */
export function noteServers(run: MastraRun, tools: MastraTools | undefined): void {
  for (const [name, tool] of Object.entries(tools ?? {})) {
    const server = asName(tool?.mcpMetadata?.serverName)
    if (server === undefined) run.servers.delete(name)
    else run.servers.set(name, server)
  }
}

/**
 * A tool in the background ends when its run may have gone on elsewhere: what comes of it is not kept.
 *
 * @throws HookspanError `NOT_CAPABLE` in a durable run.
 */
export function refuseBackground(agent: MastraAgent, tools: MastraTools): void {
  const background = agent.getBackgroundTasksConfig?.() ?? {}
  if (background.disabled || agent.getMastraInstance?.()?.backgroundTaskManager === undefined) return
  const eligible = Object.keys(tools).find((name) => runsInBackground(name, tools[name], background))
  if (eligible === undefined) return
  refuseInDurableRun(
    `has the tool "${eligible}" of Mastra, which may run in the background`,
    "Call the agent's disableBackgroundTasks().",
  )
}

/** As the SDK tells it: a tool that is an agent or a workflow goes by the name of that. */
function runsInBackground(name: string, tool: MastraTool | undefined, { tools }: MastraBackground): boolean {
  if (tools === 'all') return true
  const said = tools?.[name.replace(/^(agent|workflow)-/, '')]
  const own = typeof said === 'boolean' ? said : said?.enabled
  return own ?? tool?.backgroundConfig?.enabled ?? false
}

/** What stands in the result of a run that waits for an answer to our own question. */
interface Asked {
  readonly hookspan: 'approval'
  readonly requestId?: string
  readonly apiName: string
  readonly args: unknown
}

class Call {
  readonly #run: MastraRun
  readonly #name: string
  readonly #tool: MastraTool
  readonly #execute: Execute
  readonly #home: ToolHome

  constructor(run: MastraRun, name: string, tool: MastraTool, execute: Execute, home: ToolHome) {
    this.#run = run
    this.#name = name
    this.#tool = tool
    this.#execute = execute
    this.#home = home
  }

  async make(input: unknown, options: MastraToolOptions): Promise<unknown> {
    const { toolCallId = '' } = options
    const refused = this.#run.refused.get(toolCallId)
    if (refused !== undefined && this.#run.refused.delete(toolCallId)) return told(refused, this.#tool)
    if (options.isBackgroundTask === true) return this.#alone(input, options)
    return this.#run.working(this.#make(input, options))
  }

  /** A tool in the background, which outlives the step that asked for it, and the run: a run of its own below it. */
  async #alone(input: unknown, options: MastraToolOptions): Promise<unknown> {
    const alone = await this.#run.below(options.abortSignal)
    try {
      await alone.run.admit()
      return await new Call(alone, this.#name, this.#tool, this.#execute, this.#home).#make(input, options)
    } finally {
      await alone.run.end()
    }
  }

  async #make(input: unknown, options: MastraToolOptions): Promise<unknown> {
    const call = await this.#open(input, options)
    const decision = await call.decided
    if (decision.state === 'run') return this.#perform(call, input, options)
    if (decision.state !== 'waiting') return told(decision, this.#tool)
    const asked: Asked = {
      hookspan: 'approval',
      apiName: this.#name,
      args: input,
      ...defined({ requestId: decision.request?.id }),
    }
    return this.#suspend(options, asked)
  }

  async #open(
    input: unknown,
    { toolCallId, isBackgroundTask }: MastraToolOptions,
  ): Promise<SafeToolCall<unknown, unknown>> {
    const calls = await this.#run.run.calls()
    const { description, parameters, inputSchema = parameters } = this.#tool
    return calls.openToolCall<unknown, unknown>({
      apiName: this.#name,
      args: input,
      // As Mastra does that runs it.
      outlastsAbort: true,
      // Nothing goes on with it.
      ...(isBackgroundTask && { parkable: false }),
      ...this.#home,
      ...defined({
        toolCallId,
        description: typeof description === 'string' ? description : undefined,
        inputSchema: takenBy(inputSchema),
      }),
    })
  }

  /** Stops the loop until somebody says how to go on. */
  async #suspend(options: MastraToolOptions, payload: unknown): Promise<unknown> {
    if (options.suspend === undefined) {
      throw new Error(`Tool "${this.#name}" waits for a human, and this run cannot be suspended.`)
    }
    this.#run.run.waitingFor = 'human'
    return options.suspend(payload)
  }

  async #perform(
    call: SafeToolCall<unknown, unknown>,
    input: unknown,
    options: MastraToolOptions,
  ): Promise<unknown> {
    const { parameters, inputSchema = parameters } = this.#tool
    // Of a tool of the AI SDK, Mastra checks nothing where it is run.
    const schema = takenBy(inputSchema)
    let given: { readonly value: unknown } | undefined
    let thrown: { readonly error: unknown } | undefined
    let beside: string | undefined
    let suspended = false
    const suspend = async (...payload: Parameters<NonNullable<MastraToolOptions['suspend']>>) => {
      suspended = true
      this.#run.run.waitingFor = 'human'
      if (options.toolCallId !== undefined) this.#run.suspended.add(options.toolCallId)
      return options.suspend?.(...payload)
    }
    const outcome = await call.run(async (args) => {
      try {
        const asked = { ...options, ...(options.suspend && { suspend }) }
        const made = { run: this.#run, name: this.#name, toolCallId: options.toolCallId }
        const body = () => whileAtWork(this.#tool, () => this.#execute(args, asked), made)
        const value = await callIfFit(schema, input, args, body)
        given = { value }
      } catch (error) {
        thrown = { error: refusalIn(error) ?? error }
      }
      // It goes on in this call once the run does, where that can wait: one of an agent that is a tool ends here.
      if (suspended && !this.#run.run.isCalled) throw new RunSuspended()
      if (suspended) throw thrown?.error ?? new Error(WAITS)
      if (thrown !== undefined) throw thrown.error
      if (isError(given?.value)) throw given.value
      beside = await saidBeside(given?.value, this.#tool)
      return beside === undefined
        ? asUnfit(given?.value)
        : new ToolResult({ content: beside, data: given?.value })
    })
    if (suspended || outcome.state === 'errored') {
      if (thrown !== undefined) throw thrown.error
      if (given !== undefined) return given.value
      throw outcome.state === 'errored' ? outcome.error : new RunSuspended()
    }
    // The SDK has its own words for the model.
    if (given !== undefined && isUnfit(given.value) && 'result' in outcome && outcome.result === given.value)
      return given.value
    return told(outcome, this.#tool, given?.value, beside)
  }
}

/** Why gates refused what a tool runs: of an agent that is a tool (`agents`) Mastra says that it failed, and keeps why to itself. */
function refusalIn(error: unknown, deep = 4): HookspanError | undefined {
  if (error instanceof HookspanError) return error
  return deep > 0 && isError(error) ? refusalIn(readFields(error, ['cause']).cause, deep - 1) : undefined
}

/** What Mastra gives in the place of a result where the arguments, or the result, are not what the tool's schema says. */
function isUnfit(value: unknown): value is { readonly message: string } {
  return (
    isRecord(value) &&
    value.error === true &&
    'validationErrors' in value &&
    typeof value.message === 'string'
  )
}

function asUnfit(value: unknown): unknown {
  return isUnfit(value) ? new ToolResult({ content: value.message, success: false, data: value }) : value
}
