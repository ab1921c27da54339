import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { areInvented, callsOfSpans, cutOfCalls, enclosingTools } from '../trajectory/span-calls.ts'
import { readSpans } from '../trajectory/spans.ts'
import type { ExpectedCall } from '../trajectory/types.ts'
import {
  RECORDING_FORMAT,
  RECORDING_VERSION,
  type RecordedToolCall,
  type ToolRecording,
} from './recording.ts'

export interface FromTraceResult {
  readonly recording: ToolRecording
  /** For `toMatchTrajectory` of a run with the recording, in which tools are answered and call nothing themselves. */
  readonly trajectory: readonly ExpectedCall[]
  /** Calls that are not in the recording, and why. */
  readonly leftOut: readonly string[]
}

/**
 * Turns the tool calls of a trace into a recording and an expected trajectory. Calls that were mocked or replayed,
 * or refused, are not answers of real tools, and are left out of the recording; so are those that the trace holds a part of,
 * and those whose result `hookspan replay` did not have.
 *
 * @param source spans, OTLP JSON or Jaeger's JSON, of one run.
 * @throws HookspanError `TRAJECTORY_UNREADABLE` when there are no spans; `INVALID_RECORDING` when there is no call,
 * or the trace holds no arguments (it was made without `captureContent`).
 */
export function recordingFromTrace(source: object): FromTraceResult {
  const spans = readSpans(source)
  if (spans === undefined) {
    throw new HookspanError(
      'TRAJECTORY_UNREADABLE',
      'Expected spans, OTLP JSON or Jaeger JSON; this is none of them.',
    )
  }
  const calls = callsOfSpans(spans)
  if (calls.length === 0) {
    throw new HookspanError(
      'INVALID_RECORDING',
      `The trace has ${spans.length} spans, and no tool call among them.`,
    )
  }
  if (calls.every(({ args }) => args === undefined)) {
    throw new HookspanError(
      'INVALID_RECORDING',
      'The trace names its tool calls, but not their arguments. Trace the run with `captureContent: true`.',
    )
  }
  const leftOut: string[] = []
  const enclosing = enclosingTools(spans)
  const cut = cutOfCalls(spans)
  const invented = areInvented(spans)
  const recorded = calls.flatMap((call, index): RecordedToolCall[] => {
    const { name: tool, args, agentPath = ['agent'], identifier, result, outcome, mockSource } = call
    const why =
      mockSource !== undefined || outcome === 'mocked'
        ? `mocked (${mockSource ?? 'by a mock'})`
        : outcome === 'denied' || outcome === 'rejected' || outcome === 'skipped'
          ? outcome
          : invented[index]
            ? 'its result is not in what was replayed'
            : cut[index] && `its ${cut[index]} cut in the trace; trace it with more \`maxContentBytes\``
    if (why !== undefined) {
      leftOut.push(`${tool}: ${why}`)
      return []
    }
    const base = {
      agent: agentPath.join(' > '),
      step: 0,
      tool,
      ...(identifier !== undefined && identifier !== 'local' && { identifier }),
      ...defined({ inside: enclosing[index] }),
      args,
    }
    if (outcome !== 'errored') return [{ ...base, ...defined({ result }) }]
    const message = typeof result === 'string' ? result.replace(/^Error: /, '') : 'failed'
    return [{ ...base, error: { name: 'Error', message } }]
  })
  const tools = Object.fromEntries(recorded.map(({ tool }) => [tool, {}]))
  return {
    recording: {
      format: RECORDING_FORMAT,
      version: RECORDING_VERSION,
      redacted: false,
      tools,
      calls: recorded,
    },
    trajectory: calls
      .map(({ name, args }, index) => defined({ name, args: cut[index] === 'arguments' ? undefined : args }))
      .filter((_, index) => enclosing[index] === undefined),
    leftOut,
  }
}
