import { HookDispatcher, type Operation, type OperationInit, type ParkedOperation, type Step } from 'hookspan'
import type { SettledExecution } from 'hookspan/gates'
import { expect } from 'vitest'
import { hook } from '../support.ts'
import { Pacing } from './pacing.ts'
import {
  type Decided,
  decide,
  type ExpectedCall,
  type ExpectedTool,
  type Memory,
  type Setting,
} from './reference.ts'
import type { CallSpec, ChainSpec, GateId, RunSpec } from './specs.ts'
import { guardOf, plugInto } from './stands.ts'
import { Watch } from './watch.ts'

/** One turn of a run, open until the test ends it. */
export interface OpenStep {
  readonly spec: ChainSpec
  readonly end: PromiseWithResolvers<void>
  /** Undefined until the gates of `onStart` have let it begin. */
  step: Step | undefined
  state: 'open' | 'ending' | 'over'
  /** Made from it. */
  readonly calls: Call[]
}

/** A run, over all the processes it goes through. */
export interface Run {
  readonly id: string
  readonly spec: RunSpec
  readonly root: Run
  /** The call of this agent, for a sub-agent's run. */
  readonly calledBy: Call | undefined
  readonly controller: AbortController
  readonly start: Decided
  /** By their index. */
  readonly steps: OpenStep[]
  /** The one that is open, or about to be. */
  current: OpenStep | undefined
  stopSeen: boolean
  completing: boolean
  /** Ended otherwise than by `complete()`. */
  interrupted: boolean
  readonly calls: Call[]
  dispatcher: HookDispatcher
  op: Operation
  state: 'open' | 'ended' | 'parked'
  parked: ParkedOperation | undefined
  /** Tells the calling agent that the run has ended, or is parked. */
  done: PromiseWithResolvers<unknown>
}

/** A call, over all the processes it goes through. */
export interface Call {
  readonly key: number
  readonly spec: CallSpec
  readonly run: Run
  /** How the called agent's run begins and ends, where it is one. */
  readonly child: RunSpec
  readonly memory: { readonly before: Memory; readonly after: Memory }
  expected: ExpectedTool | ExpectedCall
  /** Gates that were asked, in order. */
  readonly asked: GateId[]
  readonly expectedToAsk: GateId[]
  ran: number
  settled: { value: unknown } | { error: unknown } | undefined
  /** Something from outside came between: how it ends is not told in advance any more, only that it does. */
  disturbed: boolean
  /** It waits for a human, and goes on in the resumed run. */
  waiting: boolean
  /** It waits in the state of a parked run, which may have been resumed since. */
  parked: boolean
  waited: boolean
  checked: boolean
  /** Open when its run began to end: told as ended, and not to be begun any more. */
  cut: boolean
  /** It was opened, and ended with its step before it was run or told. */
  left: boolean
  /** Made after the end of its run. */
  readonly late: boolean
  /** Made while its run was ending, maybe from a step that had been ended. */
  ending: boolean
  /** Whether it counts in what gates are told of the run tree. */
  readonly counted: boolean
}

export interface WorldSetting extends Setting {
  readonly traced: boolean
  /** Whether the approver lets each approved call run once only, over all processes. */
  readonly ledger: boolean
}

/** Dispatchers, and the runs in them, with all that a test says about each call beforehand. */
export class World {
  readonly setting: WorldSetting
  readonly pacing = new Pacing()
  readonly watch = new Watch()
  readonly runs: Run[] = []
  readonly calls: Call[] = []
  readonly dispatchers: HookDispatcher[] = []
  /** How many hooks each dispatcher has of its own. */
  readonly hookCounts: number[] = []
  readonly failures: { kind: string; hookId: string; error?: unknown }[] = []
  /** How each approved call that was begun ended, once it has. */
  readonly claimed = new Map<string, SettledExecution | undefined>()
  /** What each approval was about when it was first asked for. */
  readonly shown = new Map<string, string>()

  /** Questions of the runtimes themselves. */
  asked = 0
  readonly violations: unknown[] = []
  readonly tallies: Map<string, number>

  constructor(setting: WorldSetting, tallies: Map<string, number>) {
    this.setting = setting
    this.tallies = tallies
    this.addDispatcher()
  }

  /** Another process, so to speak. */
  addDispatcher(): HookDispatcher {
    const dispatcher = new HookDispatcher({
      onHookError: (failure) => void this.failures.push(failure),
      composition: this.setting.composition,
    })
    plugInto(dispatcher, this)
    this.dispatchers.push(dispatcher)
    this.hookCounts.push(dispatcher.stats().hooks)
    return dispatcher
  }

  /** What must hold inside of code whose throws are taken for its own. */
  hold(check: () => void): void {
    try {
      check()
    } catch (error) {
      this.violations.push(error)
    }
  }

  /** Notes that something was done at all, over all worlds. */
  tally(what: string): void {
    this.tallies.set(what, (this.tallies.get(what) ?? 0) + 1)
  }

  start(spec: RunSpec, by?: { call: Call; parent: NonNullable<OperationInit['parent']> }): Run {
    const id = `run-${this.runs.length}`
    const root = by?.call.run.root
    const input = { text: id }
    const dispatcher = by?.call.run.dispatcher ?? (this.dispatchers[0] as HookDispatcher)
    const run: Omit<Run, 'op' | 'root'> & { op?: Operation; root?: Run } = {
      id,
      spec,
      calledBy: by?.call,
      controller: root?.controller ?? new AbortController(),
      start: decide(this.setting, 'onStart', spec.start, input, new Map()),
      steps: [],
      current: undefined,
      stopSeen: false,
      completing: false,
      interrupted: false,
      calls: [],
      dispatcher,
      state: 'open',
      parked: undefined,
      done: Promise.withResolvers<unknown>(),
    }
    run.root = root ?? (run as Run)
    this.runs.push(run as Run)
    run.op = dispatcher.startOperation({
      ...this.#init(run as Run),
      operationId: id,
      input,
      ...(by && { parent: by.parent }),
    })
    return run as Run
  }

  /** What has to be handed over anew in every process. */
  #init(run: Run): OperationInit {
    return {
      agentName: run.calledBy === undefined ? 'root' : `agent-${run.calledBy.key}`,
      hooks: [hook('onComplete', () => {}, { id: 'its own' })],
      ...(run.calledBy === undefined && { signal: run.controller.signal, gates: [guardOf(this)] }),
    }
  }

  /** Ends this part of the run: its sub-agents' first, because their state is part of the caller's. */
  async park(run: Run): Promise<void> {
    for (const child of this.childrenOf(run)) await this.park(child)
    this.cut(run)
    const parked = JSON.parse(JSON.stringify(run.op.park({ waitingFor: 'human' }))) as ParkedOperation
    run.parked = parked
    run.state = 'parked'
    run.done.resolve({ operationId: run.id, status: 'waiting_for_human' })
    const waiting = run.calls.filter((call) => call.waiting)
    for (const call of waiting) call.parked = true
    const names = (parked.waiting ?? []).map(({ apiName }) => apiName)
    expect(names.sort()).toEqual(waiting.map(nameOf).sort())
    await this.pacing.settle()
  }

  /** In this process, or in another. */
  resume(run: Run, dispatcher: HookDispatcher, parent?: OperationInit['parent']): void {
    // The other process is gone, with what it had open.
    run.current?.end.resolve()
    run.current = undefined
    run.dispatcher = dispatcher
    run.done = Promise.withResolvers<unknown>()
    const resume = run.parked as ParkedOperation
    run.op = dispatcher.startOperation({ ...this.#init(run), resume, ...(parent && { parent }) })
    run.state = 'open'
    run.stopSeen = run.op.stopRequested !== undefined
  }

  childrenOf(run: Run): Run[] {
    return this.runs.filter(({ state, calledBy }) => state === 'open' && calledBy?.run === run)
  }

  /** Whether what is done in the run may still come to what was told in advance. */
  isCalm(run: Run): boolean {
    const { op, controller, start, state, calledBy } = run
    const own = state === 'open' && !op.ended && op.stopRequested === undefined && start.kind === 'proceed'
    return own && !controller.signal.aborted && (calledBy === undefined || this.isCalm(calledBy.run))
  }

  /** The run begins to end. */
  cut(run: Run): void {
    this.disturb(run)
    for (const call of run.calls) call.cut ||= call.settled === undefined
  }

  /** Whatever is open in a run, and below it, cannot be told in advance any more. */
  disturb(run: Run): void {
    for (const call of run.calls) if (!call.checked) call.disturbed = true
    for (const child of this.runs) if (child.calledBy?.run === run) this.disturb(child)
  }
}

/** The step from which calls are made, where there is one. */
export function openStepOf({ current }: Run): OpenStep | undefined {
  return current?.state === 'open' && current.step !== undefined ? current : undefined
}

export function nameOf({ key, spec }: Pick<Call, 'key' | 'spec'>): string {
  return `${spec.kind}-${key}`
}
