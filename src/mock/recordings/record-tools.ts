import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import { assertDispatcher } from '../../dispatcher/is-dispatcher.ts'
import type { HookEvent } from '../../hooks/index.ts'
import { errorMessage, errorType, HookspanError } from '../../internal/errors.ts'
import { a, assertFields, type Fields } from '../../internal/expect.ts'
import { safeStringify, toContent } from '../../internal/json.ts'
import { makeFolder } from '../../internal/make-folder.ts'
import { defined } from '../../internal/objects.ts'
import { isError } from '../../internal/realms.ts'
import { ToolCatalog, type ToolDeclaration } from '../tool-catalog.ts'
import { Enclosing } from './enclosing.ts'
import {
  formatRecording,
  RECORDING_FORMAT,
  RECORDING_VERSION,
  type RecordedTool,
  type RecordedToolCall,
  schemaDigest,
  type ToolRecording,
} from './recording.ts'
import { type RedactRecording, redactNow } from './redact.ts'
import { comparePositions, type Position, positionOf, RunOrder } from './run-order.ts'

export interface RecordToolsOptions {
  /** Where it is written: JSON, one file per test. */
  file?: string
  /** Sees everything before it is kept. */
  redact?: RedactRecording
  /** Tools whose schemas cannot be seen in model requests. */
  tools?: readonly ToolDeclaration[]
}

type Ended = HookEvent<'afterToolCall'> | HookEvent<'onToolCallError'>

export const RECORD_FIELDS: Fields<RecordToolsOptions> = {
  file: a.name,
  redact: a.function,
  tools: a.list,
}

let nextId = 0

/**
 * Keeps what real tools answer, until it is disposed; then it is written. Mocked, replayed and refused calls are no
 * answers of real tools, and are left out.
 *
 * @throws HookspanError `INVALID_OPTION` for an unknown option.
 * @example
 * using recorder = recordTools(dispatcher, { file: 'recordings/refund.json', redact: redactKeys(['email']) })
 */
export function recordTools(dispatcher: HookDispatcher, options: RecordToolsOptions = {}): ToolRecorder {
  return new ToolRecorder(dispatcher, options)
}

export class ToolRecorder implements Disposable {
  readonly #options: RecordToolsOptions
  /** Also where the process goes to another folder meanwhile. */
  readonly #file: string | undefined
  /** What was there when it began. */
  #stamp: string | undefined
  readonly #calls: { position: Position; call: RecordedToolCall }[] = []
  readonly #catalog: ToolCatalog
  readonly #order = new RunOrder()
  readonly #enclosing = new Enclosing()
  readonly #undo: Disposable
  #leftOut = 0
  #done = false

  constructor(dispatcher: HookDispatcher, options: RecordToolsOptions) {
    assertDispatcher(dispatcher, 'recordTools')
    // A misspelt `redact` would write what it was to keep out.
    assertFields<RecordToolsOptions>(options, RECORD_FIELDS, 'recordTools')
    this.#options = options
    this.#file = options.file === undefined ? undefined : resolve(options.file)
    this.#stamp = this.#file === undefined ? undefined : stampOf(this.#file)
    this.#catalog = new ToolCatalog(options.tools)
    const id = `hookspan.recorder.${nextId++}`
    this.#undo = dispatcher.use({
      name: id,
      instrument: this.#enclosing,
      // Answers nothing: this is where the runtime tells the tool's schema.
      standIn: ({ apiName, inputSchema, operation }) =>
        void this.#catalog.note(operation.operationId, apiName, inputSchema),
      hooks: [
        { id: `${id}.start`, type: 'onStart', handler: (event: HookEvent) => void this.#order.note(event) },
        {
          id: `${id}.llm`,
          type: 'beforeLlmCall',
          handler: (event) => this.#catalog.readRequest(event as HookEvent<'beforeLlmCall'>),
        },
        { id: `${id}.after`, type: 'afterToolCall', handler: (event) => this.#keep(event as Ended) },
        { id: `${id}.error`, type: 'onToolCallError', handler: (event) => this.#keep(event as Ended) },
      ],
    })
  }

  /** What has been recorded so far. */
  recording(): ToolRecording {
    const calls = this.#calls
      .toSorted((a, b) => comparePositions(a.position, b.position))
      .map(({ call }) => call)
    const schemas = this.#catalog.schemas()
    const tools = new Map<string, RecordedTool>()
    for (const { tool } of calls) {
      const inputSchema = schemaDigest(schemas.get(tool))
      tools.set(tool, inputSchema === undefined ? {} : { inputSchema })
    }
    return {
      format: RECORDING_FORMAT,
      version: RECORDING_VERSION,
      redacted: this.#options.redact !== undefined,
      tools: Object.fromEntries(tools),
      calls,
    }
  }

  /**
   * Writes the file.
   *
   * @throws HookspanError `INVALID_OPTION` without a `file`; `INVALID_RECORDING` when calls were made and none of
   * them was answered by a real tool: a recording of mocks would prove nothing.
   */
  save(): string {
    const file = this.#file
    if (file === undefined)
      throw new HookspanError('INVALID_OPTION', 'recordTools() has no `file` to write to.')
    if (this.#calls.length === 0 && this.#leftOut > 0) {
      throw new HookspanError(
        'INVALID_RECORDING',
        `Nothing was recorded for "${file}": all ${this.#leftOut} calls were mocked or replayed. Record with the real tools.`,
      )
    }
    if (this.#calls.length === 0 && !this.#enclosing.seen && !this.#order.seen) {
      throw new HookspanError(
        'INVALID_RECORDING',
        `Nothing was recorded for "${file}": nothing has run on the dispatcher. Give it to the agent, and await the run.`,
      )
    }
    const text = formatRecording(this.recording())
    const written = stampOf(file)
    // The same test may run in several projects at once.
    if (written !== undefined && written !== this.#stamp && readFileSync(file, 'utf8') !== text) {
      throw new HookspanError(
        'INVALID_RECORDING',
        `"${file}" was written since this recording began: two tests that record one file would each lose what the other recorded. Give each a file of its own.`,
      )
    }
    makeFolder(dirname(file))
    writeFileSync(file, text)
    this.#stamp = stampOf(file)
    return file
  }

  /** Stops recording, without writing. */
  stop(): void {
    this.#done = true
    this.#undo[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    if (this.#done) return
    this.stop()
    if (this.#file === undefined) return
    const { open } = this.#enclosing
    if (open.length > 0) {
      throw new HookspanError(
        'INVALID_RECORDING',
        `Nothing was recorded for "${this.#file}": ${open.join(', ')} had not ended. Await the run before the recording ends.`,
      )
    }
    this.save()
  }

  #keep(event: Ended): void {
    const refused =
      event.hookType === 'afterToolCall' && event.outcome !== undefined && event.outcome !== 'completed'
    const notRun = event.hookType === 'onToolCallError' && errorType(event.error) === 'LIVE_CALL'
    if (event.mocked) this.#leftOut++
    if (event.mocked || refused || notRun) return
    const { redact } = this.#options
    const { ordinal, path, run } = this.#order.note(event)
    this.#calls.push({
      position: positionOf(ordinal, event),
      call: toRecorded(event, path, run, this.#enclosing.of(event), redact && redactNow(redact)),
    })
  }
}

function stampOf(file: string): string | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false })
  return stat && `${stat.mtimeNs} ${stat.ino} ${stat.size}`
}

function toRecorded(
  event: Ended,
  agent: string,
  run: number,
  inside: string | undefined,
  redact: RedactRecording = (value) => value,
): RecordedToolCall {
  const { apiName: tool, identifier, args, stepIndex } = event
  const call = {
    agent,
    ...(run > 0 && { run }),
    step: stepIndex ?? 0,
    tool,
    ...(identifier !== 'local' && { identifier }),
    ...defined({ inside }),
    args: plain(redact(plain(args), { tool, part: 'args' })),
  }
  if (event.hookType === 'onToolCallError') {
    const { error } = event
    const code = (error as { code?: unknown } | undefined)?.code
    const name = isError(error) ? error.name : 'Error'
    const message = String(redact(errorMessage(error ?? event.errorMessage), { tool, part: 'error' }))
    return { ...call, error: { name, message, ...(typeof code === 'string' && { code }) } }
  }
  const result = plain(redact(plain(event.result), { tool, part: 'result' }))
  const content = redact(event.content, { tool, part: 'content' }) as string
  return {
    ...call,
    ...defined({ result }),
    ...(content !== toContent(result) && { content }),
    ...(!event.success && { success: false as const }),
  }
}

/** As JSON would have it: what is written must be what is compared. */
function plain(value: unknown): unknown {
  const text = safeStringify(value)
  return text === '' ? undefined : JSON.parse(text)
}
