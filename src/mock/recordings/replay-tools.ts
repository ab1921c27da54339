import type { HookDispatcher, StandInAnswer, StandInCall } from '../../dispatcher/index.ts'
import { assertDispatcher } from '../../dispatcher/is-dispatcher.ts'
import type { HookEvent, ToolMock } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { assertFields } from '../../internal/expect.ts'
import { safeStringify, toContent } from '../../internal/json.ts'
import { attach } from '../attached.ts'
import { Failures } from '../failures.ts'
import { Layers } from '../layers.ts'
import { isSubAgent } from '../sub-agent.ts'
import { ToolCatalog } from '../tool-catalog.ts'
import { toolsBut } from '../unused-rules.ts'
import {
  type Divergence,
  divergenceOfMiss,
  divergenceOfUnserved,
  divergencesOfOrder,
  rememberKeys,
} from './divergence.ts'
import { heldTo, type MadeCall } from './held-to.ts'
import { recordTools, type ToolRecorder } from './record-tools.ts'
import {
  callKey,
  isRecordedSchema,
  type RecordedToolCall,
  schemaDigest,
  type ToolRecording,
} from './recording.ts'
import { redactNow } from './redact.ts'
import {
  load,
  REPLAY_FIELDS,
  type ReplayReport,
  type ReplayToolsOptions,
  readMode,
} from './replay-options.ts'
import { comparePositions, type Position, positionOf, RunOrder } from './run-order.ts'

let nextId = 0

/**
 * Lets a recording stand in for the tools of every operation of a dispatcher, until it is disposed. Calls are found
 * by agent, tool and arguments, not by the order in which they arrive; equal calls get their results in the
 * recorded order. What is not in the recording is a divergence and never a guess.
 *
 * Rules of `mockTools()` on the same dispatcher go before it, and it answers what no rule takes. A run of which a rule
 * answered a recorded call may go another way from there, so that what it leaves out since is told and fails nothing.
 *
 * @throws HookspanError `INVALID_RECORDING`, `INVALID_OPTION`.
 * @example
 * using replay = replayTools(dispatcher, { file: 'recordings/refund.json' })
 */
export function replayTools(dispatcher: HookDispatcher, options: ReplayToolsOptions): ToolReplay {
  return new ToolReplay(dispatcher, options)
}

export class ToolReplay implements Disposable {
  /** Whether the recording answers, or is being made. */
  readonly mode: 'replay' | 'record'
  readonly #options: ReplayToolsOptions
  readonly #recording: ToolRecording
  readonly #recorder: ToolRecorder | undefined
  readonly #keyOf = rememberKeys()
  readonly #open = new Map<string, RecordedToolCall[]>()
  readonly #made: (MadeCall & { readonly position: Position })[] = []
  /** Recorded, and answered by a rule: an agent that tries again has the answer still. */
  readonly #overruled: RecordedToolCall[] = []
  /** The first rule that did. */
  #since: string | undefined
  readonly #misses: Divergence[] = []
  readonly #drifted = new Map<string, HookspanError>()
  readonly #failures = new Failures()
  readonly #catalog: ToolCatalog
  readonly #order = new RunOrder()
  readonly #undo: Disposable | undefined
  readonly #leave: () => void
  readonly #unattach: () => void
  /** By run and name of the tool: where the recording said what it gave. */
  readonly #worked = new Map<string, { readonly apiName: string; readonly operationId: string }>()
  #served = 0
  #live = 0
  #told = false
  #disposed = false

  constructor(dispatcher: HookDispatcher, options: ReplayToolsOptions) {
    assertDispatcher(dispatcher, 'replayTools')
    assertFields<ReplayToolsOptions>(options, REPLAY_FIELDS, 'replayTools')
    this.#options = options
    this.#catalog = new ToolCatalog(options.tools)
    this.mode = readMode(options)
    const layers = Layers.of(dispatcher)
    if (this.mode === 'record') {
      // What no rule takes is for the real tool.
      this.#leave = layers.addRecording({ answer: () => undefined, overrule: () => {} })
      this.#recording = { format: 'hookspan-recording', version: 1, redacted: false, tools: {}, calls: [] }
      const { file, redact, tools } = options
      this.#recorder = recordTools(dispatcher, { file, redact, tools })
      this.#unattach = attach(dispatcher, this)
      return
    }
    this.#recording = load(options)
    for (const call of this.#recording.calls) {
      const key = callKey(call)
      this.#open.set(key, [...(this.#open.get(key) ?? []), call])
    }
    this.#leave = layers.addRecording({
      answer: (call) => this.#answer(call),
      overrule: (call, rule, live) => this.#overrule(call, rule, live),
    })
    this.#unattach = attach(dispatcher, this)
    const id = `hookspan.replay.${nextId++}`
    this.#undo = dispatcher.use({
      name: id,
      // Rules ask it for what they do not take.
      standIn: (call) => (layers.hasRulesFor(call) ? undefined : this.#answer(call)),
      hooks: [
        { id: `${id}.start`, type: 'onStart', handler: (event: HookEvent) => void this.#order.note(event) },
        {
          id: `${id}.llm`,
          type: 'beforeLlmCall',
          handler: (event) => this.#catalog.readRequest(event as HookEvent<'beforeLlmCall'>),
        },
        {
          id: `${id}.reply`,
          type: 'afterLlmCall',
          handler: (event) => this.#catalog.readReply(event as HookEvent<'afterLlmCall'>),
        },
      ],
    })
  }

  report(): ReplayReport {
    const live = this.#recorder?.recording().calls.length ?? this.#live
    // A call that was made with other arguments is told as changed, and not once more as missing.
    const changed = new Set(
      this.#misses.flatMap(({ kind, recorded }) => (kind === 'changed' && recorded ? [recorded] : [])),
    )
    const unserved = [...this.#open.values()]
      .flat()
      .filter((call) => !changed.has(call) && call.inside === undefined)
    const { calls } = this.#recording
    const expected = calls.filter(({ inside }) => inside === undefined)
    const inOrder = this.#made.toSorted((a, b) => comparePositions(a.position, b.position))
    const { made, recorded } = heldTo(inOrder, expected)
    const held = new Set(recorded)
    const missing = unserved.filter((call) => held.has(call)).map(divergenceOfUnserved)
    return {
      recorded: calls.length,
      served: this.#served,
      overruled: this.#made.filter(({ overruled }) => overruled).length,
      live,
      divergences:
        this.mode === 'record'
          ? []
          : [...this.#misses, ...missing, ...divergencesOfOrder(made, recorded, this.#keyOf)],
      unreached: unserved.filter((call) => !held.has(call)),
      drifted: [...new Set([...this.#drifted.keys(), ...this.#gone().map(({ apiName }) => apiName)])].sort(),
    }
  }

  /**
   * Fails unless the run was the recorded one.
   *
   * @throws HookspanError `REPLAY_DIVERGED`, `REPLAY_DRIFTED`, `MOCKS_FAILED` for several; `INVALID_OPTION` when the
   * recording was just made: compared with itself it would always be right.
   */
  assertFollowed(): void {
    if (this.mode === 'record') {
      throw new HookspanError(
        'INVALID_OPTION',
        'The recording was just made, so there is nothing to compare it with. Run the test again to replay it.',
      )
    }
    this.#told = true
    this.#failures.throwAll('replay', this.#endFailures())
  }

  /** Takes the recording out, or writes it. @throws as {@link assertFollowed}, unless that was called before. */
  [Symbol.dispose](): void {
    if (this.#disposed) return
    this.#disposed = true
    this.#leave()
    this.#unattach()
    if (this.#recorder !== undefined) return this.#recorder[Symbol.dispose]()
    this.#undo?.[Symbol.dispose]()
    if (!this.#told) this.#failures.throwUntold('replay', this.#endFailures())
  }

  /** Takes the recording out without a check, and without writing. */
  detach(): void {
    this.#disposed = true
    this.#leave()
    this.#unattach()
    this.#recorder?.stop()
    this.#undo?.[Symbol.dispose]()
  }

  /** What can only be known at the end. Misses have failed their calls before. */
  #endFailures(): HookspanError[] {
    for (const { apiName, operationId } of this.#gone()) {
      const gone = `Tool "${apiName}" was called as it was recorded, and its agent does not have it any more.`
      this.#drift(apiName, `${gone}\n${toolsBut(apiName, this.#catalog.namesIn(operationId))}`)
    }
    return this.report()
      .divergences.filter((divergence) => !this.#misses.includes(divergence))
      .map(({ message }) => new HookspanError('REPLAY_DIVERGED', message))
  }

  #answer(call: StandInCall): StandInAnswer | undefined {
    const made = this.#toRecorded(call)
    this.#checkDrift(call)
    const recorded = this.#take(made) ?? this.#takeOverruled(made)
    if (recorded === undefined) {
      const divergence = this.#divergenceOf(made)
      this.#misses.push(divergence)
      throw this.#failures.add(new HookspanError('REPLAY_DIVERGED', divergence.message))
    }
    this.#served++
    if (recorded.error === undefined && recorded.success !== false) {
      const { operationId } = call.operation
      this.#worked.set(`${operationId} ${call.apiName}`, { apiName: call.apiName, operationId })
    }
    this.#note(call, { call: made, recorded, overruled: false })
    // It makes its own recorded calls. What it said then is not said for it.
    if (isSubAgent(call)) return undefined
    return {
      mock: toMock(recorded),
      source: 'replay',
      rule: `call ${this.#recording.calls.indexOf(recorded) + 1} of the recording`,
    }
  }

  #overrule(call: StandInCall, rule: string, live: boolean): void {
    if (live) this.#live++
    const made = this.#toRecorded(call)
    const recorded = this.#take(made)
    if (recorded === undefined) return
    this.#since ??= rule
    this.#overruled.push(recorded)
    this.#note(call, { call: made, recorded, overruled: true })
  }

  #note(call: StandInCall, made: MadeCall): void {
    const { ordinal } = this.#order.note(call.operation)
    this.#made.push({ ...made, position: positionOf(ordinal, call) })
  }

  #divergenceOf(made: RecordedToolCall): Divergence {
    const open = [...this.#open.values()].flat()
    const divergence = divergenceOfMiss(made, this.#recording.calls, open, this.#keyOf)
    if (this.#since === undefined) return divergence
    const since = `\n  since    ${this.#since} answered in place of the recording: what is called since and was not recorded needs a mock, too`
    return { ...divergence, message: divergence.message + since }
  }

  #takeOverruled(made: RecordedToolCall): RecordedToolCall | undefined {
    const at = this.#overruled.findIndex((call) => callKey(call) === callKey(made))
    return at < 0 ? undefined : this.#overruled.splice(at, 1)[0]
  }

  /** Of equal calls the first of the same run; what a tool called in turn comes last, for tools do not run here. */
  #take(made: RecordedToolCall): RecordedToolCall | undefined {
    const queue = this.#open.get(callKey(made)) ?? []
    const own = queue.filter(({ inside }) => inside === undefined)
    const [first, ...others] = own.length > 0 ? own : queue
    if (first === undefined) return undefined
    const taken = [first, ...others].find(({ run = 0 }) => run === (made.run ?? 0)) ?? first
    queue.splice(queue.indexOf(taken), 1)
    return taken
  }

  #toRecorded(call: StandInCall): RecordedToolCall {
    const { apiName: tool, identifier, stepIndex } = call
    const { path, run } = this.#order.note(call.operation)
    const redact = redactNow(this.#options.redact ?? ((value) => value))
    const text = safeStringify(call.args)
    const args = redact(text === '' ? undefined : JSON.parse(text), { tool, part: 'args' })
    return {
      agent: path,
      ...(run > 0 && { run }),
      step: stepIndex,
      tool,
      ...(identifier !== 'local' && { identifier }),
      args,
    }
  }

  /** Tools that their agents have no more. */
  #gone() {
    return [...this.#worked.values()].filter((call) => this.#catalog.isMadeUp(call))
  }

  #checkDrift({ apiName, inputSchema, operation }: StandInCall): void {
    const recorded = this.#recording.tools[apiName]?.inputSchema
    // The tool's own, and what of it the model is offered, which SDKs may write otherwise: either may have been recorded.
    const schemas = [inputSchema, this.#catalog.inputSchema(operation.operationId, apiName)]
    const now = schemas.flatMap((schema) => schemaDigest(schema) ?? [])
    if (recorded === undefined || now.length === 0) return
    if (schemas.some((schema) => isRecordedSchema(recorded, schema))) return
    this.#drift(
      apiName,
      `The input schema of "${apiName}" has changed since the recording.\n  recorded ${recorded}\n  now      ${now[0]}\nRecord it again.`,
    )
  }

  #drift(apiName: string, message: string): void {
    if (this.#drifted.has(apiName)) return
    this.#drifted.set(apiName, this.#failures.add(new HookspanError('REPLAY_DRIFTED', message)))
  }
}

function toMock({ result, content, success, error }: RecordedToolCall): ToolMock {
  if (error !== undefined) {
    const { name, message, code } = error
    return { error: Object.assign(new Error(message), { name }, code === undefined ? {} : { code }) }
  }
  return { content: content ?? toContent(result), data: result, ...(success === false && { success }) }
}
