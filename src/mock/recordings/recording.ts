import { describeValue, errorMessage } from '../../internal/errors.ts'
import { a, assertFields, expected, type Fields, refusing, required, shape } from '../../internal/expect.ts'
import { repeatedKey } from '../../internal/hostile-json.ts'
import { canonicalJson, digestOf, jsonIn, wholeJson } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import { readRegularFile } from '../../internal/read-regular-file.ts'
import { hasJsonForm } from '../../internal/schema/check-schema.ts'

export const RECORDING_FORMAT = 'hookspan-recording'
export const RECORDING_VERSION = 1

const invalid = refusing('INVALID_RECORDING', 'Recording')

/** What real tools answered, as it is written to a file. */
export interface ToolRecording {
  readonly format: typeof RECORDING_FORMAT
  readonly version: typeof RECORDING_VERSION
  /** Whether a `redact` function changed what is written; a replay then needs the same one. */
  readonly redacted: boolean
  /** By name of the tool. */
  readonly tools: Readonly<Record<string, RecordedTool>>
  /** Grouped by run, then by step and position, whatever the order in which parallel calls ended. */
  readonly calls: readonly RecordedToolCall[]
}

export interface RecordedTool {
  /** SHA-256 of the canonical JSON Schema of the arguments. */
  readonly inputSchema?: string
}

export interface RecordedToolCall {
  /** Agent names from the root, joined by ` > `. */
  readonly agent: string
  /** Which of several runs of the agent, from 0; absent for the first. */
  readonly run?: number
  readonly step: number
  readonly tool: string
  /** The tool's home, unless `local`. */
  readonly identifier?: string
  /** The tool that called it, itself or by an agent that it asked. In a replay that tool is answered, and calls nothing. */
  readonly inside?: string
  readonly args: unknown
  readonly result?: unknown
  /** What the model was told, where it is not the result itself. */
  readonly content?: string
  /** False when the tool reported a failure. */
  readonly success?: false
  /** What the tool threw. */
  readonly error?: { readonly name: string; readonly message: string; readonly code?: string }
}

/** What makes two calls the same call. Results of equal calls are kept apart by their order. */
export function callKey({
  agent,
  tool,
  identifier = 'local',
  args,
}: Pick<RecordedToolCall, 'agent' | 'tool' | 'identifier' | 'args'>): string {
  return `${agent}\n${identifier}/${tool}\n${canonicalJson(args)}`
}

/** Undefined for schemas that have no JSON form. */
export function schemaDigest(schema: unknown): string | undefined {
  return schema !== undefined && hasJsonForm(schema)
    ? `sha256:${digestOf(unordered(jsonIn(wholeJson(schema), null)))}`
    : undefined
}

/** Whether it is the schema that was recorded. In older recordings the order of `required` counts. */
export function isRecordedSchema(recorded: string, schema: unknown): boolean {
  const digest = schemaDigest(schema)
  return digest !== undefined && (recorded === digest || recorded === `sha256:${digestOf(schema)}`)
}

/** Lists that are sets: who moves a field in the source moves it here, too. */
const SETS = ['required', 'enum', 'type']

function unordered(schema: unknown, key?: string): unknown {
  if (Array.isArray(schema)) {
    const items = schema.map((item) => unordered(item))
    return SETS.includes(key ?? '') ? items.sort(byJson) : items
  }
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(Object.entries(schema).map(([name, item]) => [name, unordered(item, name)]))
}

const byJson = (a: unknown, b: unknown) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1)

/**
 * Readable, and the same bytes for the same recording: keys are sorted within arguments, which a model writes in any
 * order. Those of results are as the tool gave them, for that is the text which the model is told.
 */
export function formatRecording(recording: ToolRecording): string {
  if (!a.object.fits(recording) || !a.objects.fits(recording.calls)) {
    throw expected('a recording, as readRecording gives it', recording)
  }
  const { calls, tools = {}, ...head } = recording
  const sortedTools = Object.fromEntries(Object.entries(tools).sort(([a], [b]) => (a < b ? -1 : 1)))
  const sortedCalls = calls.map(({ args, result, ...call }) => ({
    ...call,
    args: sorted(args),
    ...defined({ result }),
  }))
  return `${JSON.stringify({ ...head, tools: sortedTools, calls: sortedCalls }, null, 2)}\n`
}

function sorted(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(canonicalJson(value))
}

/** @throws HookspanError `INVALID_RECORDING` naming the file, what is wrong, and the mend. */
export function readRecording(path: string): ToolRecording {
  if (!a.name.fits(path)) throw expected('the path of a recording to be a non-empty string', path)
  let text: string
  try {
    // Some editors of Windows write a byte order mark.
    text = readRegularFile(path)
      .toString()
      .replace(/^\uFEFF/, '')
  } catch (error) {
    throw invalid(
      `"${path}" cannot be read (${errorMessage(error)}). Record it first, with mode "record" or "auto"`,
      error,
    )
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw invalid(`"${path}" is not JSON (${errorMessage(error)}). Record it again`, error)
  }
  // As two that were merged have it: the first of the two would be dropped, and nobody told.
  const twice = repeatedKey(text)
  if (twice !== undefined) {
    throw invalid(
      `"${path}" has the key ${twice} twice in one object. Keep one of the two, or record it again`,
    )
  }
  return checkRecording(value, `"${path}"`)
}

/** @throws HookspanError `INVALID_RECORDING`. */
export function checkRecording(value: unknown, name = 'the recording'): ToolRecording {
  const { format, version, calls, tools } = (value ?? {}) as Partial<ToolRecording>
  if (format !== RECORDING_FORMAT)
    throw invalid(`${name} has the format ${describeValue(format)}, expected "${RECORDING_FORMAT}"`)
  if (version !== RECORDING_VERSION) {
    throw invalid(
      `${name} has version ${describeValue(version)}, this hookspan reads ${RECORDING_VERSION}. Record it again`,
    )
  }
  if (!Array.isArray(calls) || typeof tools !== 'object' || tools === null)
    throw invalid(`${name} lacks \`calls\` or \`tools\``)
  assertFields<ToolRecording>(value, RECORDING, name, 'INVALID_RECORDING')
  for (const [tool, told] of Object.entries(tools)) {
    assertFields<RecordedTool>(told, TOOL, `tools[${JSON.stringify(tool)}] of ${name}`, 'INVALID_RECORDING')
  }
  for (const [index, call] of calls.entries()) assertCall(call, `calls[${index}] of ${name}`)
  return value as ToolRecording
}

/** What was edited, or merged, by hand: a misspelt `error` would be a tool that gave nothing. */
const RECORDING: Fields<ToolRecording> = {
  format: a.value,
  version: a.value,
  redacted: required(a.boolean),
  tools: a.object,
  calls: a.list,
}
const TOOL: Fields<RecordedTool> = { inputSchema: a.string }
const CALL: Fields<RecordedToolCall> = {
  agent: required(a.string),
  run: a.integer(0),
  step: required(a.integer(0)),
  tool: required(a.name),
  identifier: a.string,
  inside: a.string,
  args: a.value,
  result: a.value,
  content: a.string,
  success: shape('false, where it is there', (value) => value === false),
  error: a.object,
}
const ERROR: Fields<NonNullable<RecordedToolCall['error']>> = {
  name: required(a.string),
  message: required(a.string),
  code: a.string,
}

function assertCall(call: unknown, whose: string): void {
  assertFields<RecordedToolCall>(call, CALL, whose, 'INVALID_RECORDING')
  if (call.error === undefined) return
  assertFields(call.error, ERROR, `the error of ${whose}`, 'INVALID_RECORDING')
  const other = (['result', 'content', 'success'] as const).find((key) => key in call)
  if (other !== undefined)
    throw invalid(`${whose} has an \`error\` and a \`${other}\`; a tool gives one of the two`)
}
