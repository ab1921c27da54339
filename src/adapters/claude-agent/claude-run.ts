import { AsyncLocalStorage } from 'node:async_hooks'
import type { HookDispatcher, ToolCallDecision, ToolCallInit } from '../../dispatcher/index.ts'
import { assertCapable } from '../../dispatcher/run/capabilities.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { isMocked } from '../../dispatcher/run/guarded.ts'
import type { RunTool } from '../../dispatcher/run/run-tool.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { asList, asObjects, type Loose } from '../../wire/reading.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import { ObservedRun } from '../sdk-run/observed-run.ts'
import { warnOnce } from '../warn-once.ts'
import { ADAPTER, WITHOUT_HOOKS } from './capabilities.ts'
import { Lane } from './lane.ts'
import { namedIn } from './named-in.ts'
import { Results } from './results.ts'
import type { ClaudeOptions, QueryParams } from './sdk.ts'

const LEAVE_BARE_MODE =
  'Take `CLAUDE_CODE_SIMPLE` from its environment and settings, and `--bare` from its arguments.'

const frames = new AsyncLocalStorage<ClaudeRun>()

/** A tool call that Claude Code has announced. */
export interface AnnouncedCall {
  readonly call: SafeToolCall<unknown, unknown>
  readonly decision: Pick<ToolCallDecision<unknown, unknown>, 'state'>
  /** As gates let it through. */
  readonly args: unknown
  /** Of a tool of this process: whether Claude Code lets it run, once it does. Mocks are asked then. */
  readonly permission?: Permission
  /** What whoever permitted it made of its arguments. */
  edited?: unknown
  /** The user's own function is asked whether it may run. */
  isAsked?: boolean
  /** A server in this process has it: what comes of it is known there. */
  served?: boolean
}

/** Whoever else was to permit it did not. */
export async function refuse(
  { call, permission }: AnnouncedCall,
  refused: NonNullable<ToolCallInit['refused']>,
): Promise<void> {
  permission?.give(refused)
  await (permission ? call.outcome : call.refuse(refused))
}

export const interrupted = () => new DOMException('Claude Code was interrupted.', 'AbortError')

type Permitted = Awaited<ReturnType<NonNullable<ToolCallInit['permit']>>>

/** What Claude Code and its user say to a call that gates let through. */
export class Permission {
  readonly #asked = Promise.withResolvers<{ readonly state: 'run'; readonly args: unknown }>()
  readonly #given = Promise.withResolvers<Permitted>()

  /** Once gates let it through, with these arguments. */
  get asked(): Promise<{ readonly state: 'run'; readonly args: unknown }> {
    return this.#asked.promise
  }

  readonly ask = (args: unknown): Promise<Permitted> => {
    this.#asked.resolve({ state: 'run', args })
    return this.#given.promise
  }

  give(said?: Permitted): void {
    this.#given.resolve(said)
  }
}

/** One query, and what is known of it while it goes on. */
export class ClaudeRun {
  readonly run: ObservedRun
  readonly dispatcher: HookDispatcher
  readonly root: Lane
  readonly calls = new Map<string, AnnouncedCall[]>()
  /** The servers that are in this process, by their names as Claude Code writes them in those of tools. */
  readonly servers: ReadonlyMap<string, object>
  /** Ids of the calls that Claude Code has asked about. */
  readonly asked = new Set<string>()
  readonly results = new Results()
  /** Whether Claude Code asks hooks: one of ours hears of each prompt before its model is asked. */
  asksHooks = false
  /** Nobody decides on its tools, and somebody was to. */
  isUnguarded = false
  /** Its user has interrupted the prompt that it is at, or closed it. */
  isInterrupted = false
  /** A gate decides on shells, and is to be asked of the commands in skills. */
  reliesOnSkillHooks = false
  #steps = 0

  constructor(dispatcher: HookDispatcher, name: string, { prompt, options = {} }: QueryParams) {
    this.dispatcher = dispatcher
    // A run that goes on is asked nothing.
    const input = typeof prompt === 'string' && prompt !== '' ? prompt : undefined
    const signal = options.abortController?.signal
    const said = defined({ agentName: options.agent ?? name, input, signal })
    this.run = new ObservedRun({ dispatcher, adapter: ADAPTER }, said)
    const turns = {
      signal,
      asked: this.asked,
      unrun: this.unrun,
      beginStep: () => this.run.beginStep(this.#steps++),
      calls: () => this.run.calls(),
    }
    this.root = new Lane(turns, input)
    this.servers = new Map(
      Object.entries(options.mcpServers ?? {}).flatMap(([name, server]) =>
        server?.instance === undefined ? [] : [[name.replace(/[^\w-]/g, '_'), server.instance]],
      ),
    )
    try {
      const mocked = this.run.run(() => currentPlace()?.core.standIns().length ?? 0) > 0
      assertMockable(mocked, options)
    } catch (error) {
      void this.run.fail(error)
      throw error
    }
  }

  static get current(): ClaudeRun | undefined {
    return frames.getStore()
  }

  /** Whether what runs is what somebody decided on, whatever hooks beside ours make of it. */
  get isDecidedOn(): boolean {
    return this.run.run(() => currentPlace()?.core.enforcesAt('beforeToolCall')) ?? false
  }

  /** The model is about to be asked. @throws HookspanError `NOT_CAPABLE` where its tools would run past gates and mocks. */
  assertGuarded(): void {
    const core = this.run.run(() => currentPlace()?.core)
    if (this.asksHooks || core === undefined) return
    try {
      assertCapable(WITHOUT_HOOKS, core.allGates(), isMocked(core))
    } catch (cause) {
      this.isUnguarded = true
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new HookspanError('NOT_CAPABLE', `${why} ${LEAVE_BARE_MODE}`, { cause })
    }
    warnOnce(`hookspan: Claude Code asks no hooks, so its tools are not told. ${LEAVE_BARE_MODE}`)
  }

  within<T>(fn: () => T): T {
    return this.run.run(() => frames.run(this, fn))
  }

  /** Beside the turns: what goes on over several of them. */
  get beside(): SafeCalls | undefined {
    return this.run.run(() => currentCalls())
  }

  /** What Claude Code says that it has: without the tools of servers that it has not reached so far. */
  has({ tools: names, mcp_servers: servers }: Loose): void {
    const told = asList(names).map((name) => namedIn(String(name)))
    const tools: RunTool[] = told.map(({ apiName: name, identifier }) => ({ name, identifier }))
    if (asObjects(servers).some(({ status }) => status === 'pending')) tools.push({ name: '*' })
    this.run.run(() => currentPlace()?.core.seen?.list(tools))
  }

  announce(id: string, announced: AnnouncedCall): void {
    this.calls.set(id, [...(this.calls.get(id) ?? []), announced])
  }

  /** The call of that id; where two share it, that of these arguments. */
  find(id: string | undefined, args?: unknown): AnnouncedCall | undefined {
    const same = this.calls.get(id ?? '') ?? []
    const text = JSON.stringify(args)
    return same.find((one) => JSON.stringify(one.args) === text) ?? same[0]
  }

  /** Its tool was not begun after all: it was not permitted, or something beside it failed. */
  readonly unrun = async (id: string, args: unknown, why: string): Promise<void> => {
    const announced = this.find(id, args)
    // What was answered without the tool is told, and an abort tells of itself.
    if (announced === undefined || announced.served || this.run.signal?.aborted) return
    this.forget(id, announced)
    if (announced.decision.state !== 'run') return
    // It was at work: one that Claude Code does not permit is told so at once. Of a tool of this process it is known that it was not.
    const mayHaveRun = !announced.isAsked && announced.permission === undefined
    if (this.isInterrupted && mayHaveRun) await announced.call.fail(interrupted())
    else if (why.startsWith('<tool_use_error>')) await announced.call.fail(new Error(why))
    else await refuse(announced, { kind: 'deny', code: 'tool_approval', reason: why })
  }

  forget(id: string, announced: AnnouncedCall): void {
    const left = (this.calls.get(id) ?? []).filter((one) => one !== announced)
    if (left.length === 0) this.calls.delete(id)
    else this.calls.set(id, left)
  }
}

/**
 * What Claude Code runs by itself cannot be mocked.
 *
 * @throws HookspanError `NOT_CAPABLE`.
 */
function assertMockable(mocked: boolean, { tools, mcpServers = {} }: ClaudeOptions): void {
  if (!mocked) return
  const builtIn = !(Array.isArray(tools) && tools.length === 0)
  const elsewhere = Object.keys(mcpServers).find((name) => !isRecord(mcpServers[name]?.instance))
  if (!builtIn && elsewhere === undefined) return
  const what = builtIn
    ? "the agent has Claude Code's built-in tools"
    : `the agent has the tools of the server "${elsewhere}", which runs elsewhere`
  const mend = builtIn
    ? 'Leave them out with `tools: []`, and give it tools of your own with createSdkMcpServer().'
    : 'Give it a server of this process with createSdkMcpServer() in its place.'
  throw new HookspanError('NOT_CAPABLE', `Tools are mocked, and ${what}: these would run live. ${mend}`)
}
