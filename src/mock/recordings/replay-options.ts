import { existsSync } from 'node:fs'
import { HookspanError } from '../../internal/errors.ts'
import { a, expected, type Fields } from '../../internal/expect.ts'
import type { ToolDeclaration } from '../tool-catalog.ts'
import type { Divergence } from './divergence.ts'
import { RECORD_FIELDS } from './record-tools.ts'
import { checkRecording, type RecordedToolCall, readRecording, type ToolRecording } from './recording.ts'
import type { RedactRecording } from './redact.ts'

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
  /** Calls in the recording that rules of the same dispatcher answered in its place. */
  readonly overruled: number
  /** Real tools that ran: 0 unless it was recorded, or a rule lets one run. */
  readonly live: number
  readonly divergences: readonly Divergence[]
  /** What was recorded and not made, in a run that may go another way, for a call of it was overruled before. */
  readonly unreached: readonly RecordedToolCall[]
  /** Tools whose schema is not the recorded one. */
  readonly drifted: readonly string[]
}

export const REPLAY_FIELDS: Fields<ReplayToolsOptions> = {
  ...RECORD_FIELDS,
  recording: a.object,
  mode: a.value,
}

/** @param name of the option, or of the variable that says it. @throws HookspanError `INVALID_OPTION`. */
export function assertMode(mode: string, name = 'mode'): asserts mode is ReplayMode {
  if (['strict', 'record', 'auto'].includes(mode)) return
  throw expected(`\`${name}\` to be "strict", "record" or "auto"`, mode)
}

/** What the options come to, by whether there is a file. */
export function readMode({ mode = 'strict', file, recording }: ReplayToolsOptions): 'replay' | 'record' {
  assertMode(mode)
  if ((file === undefined) === (recording === undefined) || (recording !== undefined && mode !== 'strict')) {
    throw new HookspanError(
      'INVALID_OPTION',
      'Expected replayTools() to get a `file`, or, with mode "strict", a `recording`.',
    )
  }
  if (mode === 'strict') return 'replay'
  return mode === 'record' || !existsSync(file as string) ? 'record' : 'replay'
}

export function load({ file, recording, redact }: ReplayToolsOptions): ToolRecording {
  const loaded = file === undefined ? checkRecording(recording) : readRecording(file)
  if (loaded.redacted && redact === undefined) {
    throw new HookspanError(
      'INVALID_RECORDING',
      'Recording: it was redacted, so arguments can only be compared with the same `redact` function. Give it to replayTools().',
    )
  }
  return loaded
}
