import { existsSync } from 'node:fs'
import type { HookDispatcher, StandInAnswer, StandInCall } from '../../dispatcher/index.ts'
import { assertDispatcher } from '../../dispatcher/is-dispatcher.ts'
import type { HookEvent, ToolMock } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, assertFields, expected, type Fields } from '../../internal/expect.ts'
import { safeStringify, toContent } from '../../internal/json.ts'
import { Failures } from '../failures.ts'
import { isSubAgent } from '../sub-agent.ts'
import { ToolCatalog, type ToolDeclaration } from '../tool-catalog.ts'
import { type Divergence, divergenceOfMiss, divergenceOfUnserved, divergencesOfOrder } from './divergence.ts'
import { RECORD_FIELDS, recordTools, type ToolRecorder } from './record-tools.ts'
import {
  callKey,
  checkRecording,
  type RecordedToolCall,
  readRecording,
  schemaDigest,
  type ToolRecording,
} from './recording.ts'
import type { RedactRecording } from './redact.ts'
import { comparePositions, type Position, positionOf, RunOrder } from './run-order.ts'

export type ReplayMode = 'strict' | 'record' | 'auto'

export interface ReplayToolsOptions {
  /** The recording's file. Needed unless `recording` is given. */
  file?: string
  /** A recording that is no file. */
  recording?: ToolRecording
  /**
   * `strict`: every call is answered from the recording, and all of the recording is called for. `record`: the real
   * tools run, and the file is written anew. `auto`: `strict` where the file exists, else `record`; never half of
   * each, for a replay with live calls in it proves nothing.
   *
   * @default 'strict'
   */
  mode?: ReplayMode
  /** The function with which it was recorded: arguments are compared as they were written. */
  redact?: RedactRecording
  /** Tools whose schemas cannot be seen in model requests. */
  tools?: readonly ToolDeclaration[]
}

export interface ReplayReport {
  /** Calls in the recording. */
  readonly recorded: number
  /** Calls that the recording answered. */
  readonly served: number
  /** Real tools that ran: 0 unless it was recorded. */
  readonly live: number
  readonly divergences: readonly Divergence[]
  /** Tools whose schema is not the recorded one. */
  readonly drifted: readonly string[]
}

const FIELDS: Fields<ReplayToolsOptions> = { ...RECORD_FIELDS, recording: a.object, mode: a.value }

let nextId = 0

/**
 * Lets a recording stand in for the tools of every operation of a dispatcher, until it is disposed. Calls are found
 * by agent, tool and arguments, not by the order in which they arrive; equal calls get their results in the
 * recorded order. What is not in the recording is a divergence and never a guess.
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
  readonly #open = new Map<string, RecordedToolCall[]>()
  readonly #made: { position: Position; call: RecordedToolCall }[] = []
  readonly #misses: Divergence[] = []
  readonly #drifted = new Map<string, HookspanError>()
  readonly #failures = new Failures()
  readonly #catalog: ToolCatalog
  readonly #order = new RunOrder()
  readonly #undo: Disposable | undefined
  #served = 0
  #told = false
  #disposed = false

  constructor(dispatcher: HookDispatcher, options: ReplayToolsOptions) {
    assertDispatcher(dispatcher, 'replayTools')
    assertFields<ReplayToolsOptions>(options, FIELDS, 'replayTools')
    this.#options = options
    this.#catalog = new ToolCatalog(options.tools)
    this.mode = readMode(options)
    if (this.mode === 'record') {
      this.#recording = { format: 'hookspan-recording', version: 1, redacted: false, tools: {}, calls: [] }
      const { file, redact, tools } = options
      this.#recorder = recordTools(dispatcher, { file, redact, tools })
      return
    }
    this.#recording = load(options)
    for (const call of this.#recording.calls) {
      const key = callKey(call)
      this.#open.set(key, [...(this.#open.get(key) ?? []), call])
    }
    const id = `hookspan.replay.${nextId++}`
    this.#undo = dispatcher.use({
      name: id,
      standIn: (call) => this.#answer(call),
      hooks: [
        { id: `${id}.start`, type: 'onStart', handler: (event: HookEvent) => void this.#order.note(event) },
        {
          id: `${id}.llm`,
          type: 'beforeLlmCall',
          handler: (event) => this.#catalog.readRequest(event as HookEvent<'beforeLlmCall'>),
        },
      ],
    })
  }

  report(): ReplayReport {
    const live = this.#recorder?.recording().calls.length ?? 0
    // A call that was made with other arguments is told as changed, and not once more as missing.
    const changed = new Set(
      this.#misses.flatMap(({ kind, recorded }) => (kind === 'changed' && recorded ? [recorded] : [])),
    )
    const unserved = [...this.#open.values()]
      .flat()
      .filter((call) => !changed.has(call) && call.inside === undefined)
      .map(divergenceOfUnserved)
    const { calls } = this.#recording
    const expected = calls.filter(({ inside }) => inside === undefined)
    const made = this.#made
      .toSorted((a, b) => comparePositions(a.position, b.position))
      .map(({ call }) => call)
    return {
      recorded: calls.length,
      served: this.#served,
      live,
      divergences:
        this.mode === 'record' ? [] : [...this.#misses, ...unserved, ...divergencesOfOrder(made, expected)],
      drifted: [...this.#drifted.keys()].sort(),
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
    if (this.#recorder !== undefined) return this.#recorder[Symbol.dispose]()
    this.#undo?.[Symbol.dispose]()
    if (!this.#told) this.#failures.throwUntold('replay', this.#endFailures())
  }

  /** Takes the recording out without a check, and without writing. */
  detach(): void {
    this.#disposed = true
    this.#recorder?.stop()
    this.#undo?.[Symbol.dispose]()
  }

  /** What can only be known at the end. Misses have failed their calls before. */
  #endFailures(): HookspanError[] {
    return this.report()
      .divergences.filter((divergence) => !this.#misses.includes(divergence))
      .map(({ message }) => new HookspanError('REPLAY_DIVERGED', message))
  }

  #answer(call: StandInCall): StandInAnswer | undefined {
    const made = this.#toRecorded(call)
    this.#checkDrift(call)
    const recorded = this.#take(made)
    if (recorded === undefined) {
      const divergence = divergenceOfMiss(made, this.#recording.calls, [...this.#open.values()].flat())
      this.#misses.push(divergence)
      throw this.#failures.add(new HookspanError('REPLAY_DIVERGED', divergence.message))
    }
    this.#served++
    const { ordinal } = this.#order.note(call.operation)
    this.#made.push({ position: positionOf(ordinal, call), call: made })
    // It makes its own recorded calls. What it said then is not said for it.
    if (isSubAgent(call)) return undefined
    return {
      mock: toMock(recorded),
      source: 'replay',
      rule: `call ${this.#recording.calls.indexOf(recorded) + 1} of the recording`,
    }
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
    const redact = this.#options.redact ?? ((value: unknown) => value)
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

  #checkDrift({ apiName, inputSchema, operation }: StandInCall): void {
    const recorded = this.#recording.tools[apiName]?.inputSchema
    const now = schemaDigest(inputSchema ?? this.#catalog.inputSchema(operation.operationId, apiName))
    if (recorded === undefined || now === undefined || recorded === now || this.#drifted.has(apiName)) return
    const failure = new HookspanError(
      'REPLAY_DRIFTED',
      `The input schema of "${apiName}" has changed since the recording.\n  recorded ${recorded}\n  now      ${now}\nRecord it again.`,
    )
    this.#drifted.set(apiName, this.#failures.add(failure))
  }
}

function readMode({ mode = 'strict', file, recording }: ReplayToolsOptions): 'replay' | 'record' {
  if (!['strict', 'record', 'auto'].includes(mode)) {
    throw expected('`mode` to be "strict", "record" or "auto"', mode)
  }
  if ((file === undefined) === (recording === undefined) || (recording !== undefined && mode !== 'strict')) {
    throw new HookspanError(
      'INVALID_OPTION',
      'Expected replayTools() to get a `file`, or, with mode "strict", a `recording`.',
    )
  }
  if (mode === 'strict') return 'replay'
  return mode === 'record' || !existsSync(file as string) ? 'record' : 'replay'
}

function load({ file, recording, redact }: ReplayToolsOptions): ToolRecording {
  const loaded = file === undefined ? checkRecording(recording) : readRecording(file)
  if (loaded.redacted && redact === undefined) {
    throw new HookspanError(
      'INVALID_RECORDING',
      'Recording: it was redacted, so arguments can only be compared with the same `redact` function. Give it to replayTools().',
    )
  }
  return loaded
}

function toMock({ result, content, success, error }: RecordedToolCall): ToolMock {
  if (error !== undefined) {
    const { name, message, code } = error
    return { error: Object.assign(new Error(message), { name }, code === undefined ? {} : { code }) }
  }
  return { content: content ?? toContent(result), data: result, ...(success === false && { success }) }
}
