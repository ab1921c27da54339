import { POINTS } from '../gates/gate.ts'
import type { Gate, GatePoint } from '../gates/index.ts'
import { a, assertFields, type Fields, named, required } from '../internal/expect.ts'
import { GLOBS } from '../internal/glob.ts'
import { defined } from '../internal/objects.ts'
import { type CommandProgram, environmentOf, PROGRAM_FIELDS, programOf } from './command-program.ts'
import { invocationOf, probe, readDecision } from './invocation.ts'
import { dialectOf, GATE_PROTOCOLS, type GateProtocol } from './protocols/protocol.ts'
import { runCommand } from './run-command.ts'

/** What all gates that run elsewhere share. */
export interface RemoteGateOptions
  extends Pick<Gate, 'id' | 'point' | 'match' | 'priority' | 'onFailure' | 'shadow'> {
  /** Milliseconds to answer; past it the command is killed or the request aborted. @default 5_000 */
  timeoutMs?: number
  /** Bytes that go out and that are read back, each. @default 1_048_576 */
  maxBodyBytes?: number
  /** How it is asked and answers: as PulseBot's or Meerkat's hooks do, where it was written for one of them. @default 'hookspan' */
  protocol?: GateProtocol
}

export interface CommandGateOptions extends RemoteGateOptions, CommandProgram {}

export const DEFAULT_MAX_BODY_BYTES = 1_048_576

export const REMOTE_FIELDS: Fields<RemoteGateOptions> = {
  id: required(a.name),
  point: required(POINTS),
  match: GLOBS,
  priority: a.finite,
  timeoutMs: a.milliseconds,
  onFailure: a.oneOf('deny', 'proceed'),
  shadow: a.boolean,
  maxBodyBytes: a.number(1),
  protocol: a.oneOf(...GATE_PROTOCOLS),
}

export const COMMAND_GATE: Fields<CommandGateOptions> = {
  ...REMOTE_FIELDS,
  ...PROGRAM_FIELDS,
}

/**
 * A gate that is a program: it reads the question as JSON on its standard input, writes one decision as JSON to its
 * standard output and ends with exit code 0. Everything else is a failure and denies, unless `onFailure` says else.
 *
 * `TRACEPARENT` is in its environment, so that what it traces joins the run's trace.
 *
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * dispatcher.use({ name: 'policy', gates: [commandGate({ id: 'opa', point: 'beforeToolCall', command: './check.sh' })] })
 */
export function commandGate(options: CommandGateOptions): Gate {
  assertFields<CommandGateOptions>(options, COMMAND_GATE, named('gate', options))
  const { id, point } = options
  const dialect = dialectOf(options.protocol, point, `gate "${id}"`)
  const maxBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  const program = programOf(options, `gate "${id}"`)
  const decide: Gate['decide'] = async (ctx) => {
    const output = await runCommand({
      ...program,
      env: environmentOf(options, ctx.traceparent),
      stdin: invocationOf(dialect, id, ctx, maxBytes),
      signal: ctx.signal,
      maxOutputBytes: maxBytes,
    })
    return readDecision(dialect, output, ctx.point, 'its standard output')
  }
  return {
    ...sharedOf(options),
    runtime: 'command',
    decide,
    async check({ signal }) {
      await decide(probe(firstPoint(point), signal))
    },
  }
}

/** The fields of a gate, out of the options of one that runs elsewhere. */
export function sharedOf(options: RemoteGateOptions): Omit<Gate, 'decide'> {
  const { id, point, match, priority, timeoutMs, onFailure, shadow } = options
  return defined({ id, point, match, priority, timeoutMs, onFailure, shadow })
}

export function firstPoint(point: GatePoint | readonly GatePoint[]): GatePoint {
  return (typeof point === 'string' ? point : point[0]) as GatePoint
}
