import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { orderGates, runChain } from '../../gates/chain.ts'
import { decidesAt, NO_TOTALS } from '../../gates/gate.ts'
import { GATE_POINTS, type Gate, type GatePoint } from '../../gates/index.ts'
import { isHookType } from '../../hooks/index.ts'
import { timeoutSignal } from '../../internal/async.ts'
import { describeValue, errorMessage, errorSentence } from '../../internal/errors.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { readRegularFile } from '../../internal/read-regular-file.ts'
import { type GateType, type LoadedConfig, type LoadedEntry, loadConfig } from '../../policies/index.ts'
import { UsageError } from '../failure.ts'
import { columns } from '../render/columns.ts'
import { shown } from '../render/shown.ts'
import { printJson } from '../render/terminal.ts'

/** Flags of all `hookspan hooks` commands. */
export interface ConfigFlags {
  config?: string
  user: boolean
  json?: boolean
  gateTypes?: string
}

async function load({ config: file, user, gateTypes }: ConfigFlags): Promise<LoadedConfig> {
  const types = gateTypes === undefined ? undefined : await gateTypesOf(gateTypes)
  return loadConfig({ ...defined({ file, gateTypes: types }), ...(user ? {} : { userFile: false }) })
}

/** @throws UsageError for a module that cannot be loaded, or exports none. */
async function gateTypesOf(path: string): Promise<Record<string, GateType>> {
  let module: { gateTypes?: unknown; default?: unknown }
  try {
    module = await import(pathToFileURL(resolve(path)).href)
  } catch (cause) {
    throw new UsageError(`The module ${shown(path)} cannot be loaded: ${errorSentence(cause)}`, { cause })
  }
  const types = module.gateTypes ?? module.default
  if (isRecord(types)) return types as Record<string, GateType>
  throw new UsageError(
    `The module ${shown(path)} exports no gate types. Export them as \`gateTypes\`: \`{ name: { options, create } }\`.`,
  )
}

export async function listHooks(flags: ConfigFlags): Promise<void> {
  const { entries, files } = await load(flags)
  if (flags.json) {
    const plain = entries.map(({ gate, hooks: _hooks, ...entry }) => ({ ...entry, point: gate?.point }))
    printJson({ files, entries: plain })
    return
  }
  if (entries.length === 0) {
    console.log(
      files.length === 0
        ? 'There is no config file: no hookspan.config.{yaml,toml,json,ts,js} here or in a folder above.'
        : `Nothing is configured in ${shown(files.join(', '))}.`,
    )
    return
  }
  const rows = entries.map((entry) => [
    entry.active ? 'on ' : 'off',
    entry.id,
    entry.type,
    whenOf(entry),
    `${entry.layer} ${place(entry)}`,
  ])
  for (const line of columns(rows)) console.log(line)
}

function whenOf({ gate, hooks }: LoadedEntry): string {
  if (hooks !== undefined) return `${hooks.map(({ type }) => type).join(', ')} (observes)`
  const points = gate === undefined ? [] : [gate.point].flat()
  const more = [gate?.shadow && 'shadow', gate?.onFailure === 'proceed' && 'fails open'].filter(Boolean)
  return `${points.join(', ')}${more.length > 0 ? ` (${more.join(', ')})` : ''}`
}

function place({ file, line }: LoadedEntry): string {
  const near = relative(process.cwd(), file)
  return `${near.startsWith('..') ? file : near}${line === undefined ? '' : `:${line}`}`
}

interface Checked {
  readonly id: string
  readonly ok: boolean
  readonly ms: number
  readonly message: string
}

/** Asks each gate something that is about nothing; the exit code says whether all of them answered. */
export async function checkHooks(
  files: readonly string[],
  flags: ConfigFlags & { timeout: string },
): Promise<void> {
  let failed = 0
  for (const config of files.length > 0 ? files : [flags.config]) {
    const given = config === undefined ? flags : { ...flags, config }
    failed += await check(await load(given), { ...flags, timeoutMs: Number(flags.timeout) || 5_000 })
  }
  if (failed > 0) process.exitCode = 1
}

async function check(config: LoadedConfig, flags: ConfigFlags & { timeoutMs: number }): Promise<number> {
  const results: Checked[] = []
  for (const entry of config.entries) {
    if (!entry.active || entry.gate === undefined) continue
    results.push(await checkGate(entry.gate, flags.timeoutMs))
  }
  if (flags.json) printJson(results)
  else if (results.length === 0) console.log('There is no gate to check.')
  else {
    const rows = results.map(({ id, ok, ms, message }) => [
      ok ? 'ok  ' : 'FAIL',
      id,
      `${ms.toFixed(0)} ms`,
      message,
    ])
    for (const line of columns(rows)) console.log(line)
  }
  return results.filter((result) => !result.ok).length
}

async function checkGate(gate: Gate, timeoutMs: number): Promise<Checked> {
  const startedAt = performance.now()
  const signal = timeoutSignal(Math.min(timeoutMs, gate.timeoutMs ?? timeoutMs))
  const done = (ok: boolean, message: string): Checked => ({
    id: gate.id,
    ok,
    ms: performance.now() - startedAt,
    message,
  })
  if (gate.check === undefined) return done(true, 'runs in this process')
  try {
    await gate.check({ signal })
    return done(true, 'started and answered')
  } catch (error) {
    return done(false, signal.aborted ? `no decision in time: ${errorMessage(error)}` : errorMessage(error))
  }
}

/** Runs recorded events through the gates and prints each decision. */
export async function testHooks(file: string, flags: ConfigFlags): Promise<void> {
  const { plugin } = await load(flags)
  const gates = plugin.gates ?? []
  const questions = readEvents(readText(file)).flatMap(questionOf)
  if (questions.length === 0) {
    throw new UsageError(`${shown(file)} has no event at which a gate decides. Record \`beforeToolCall\`.`)
  }
  for (const question of questions) {
    const { point, payload, ...where } = question
    const decisions: object[] = []
    const result = await runChain(
      orderGates(
        gates.filter((gate) => decidesAt(gate, point)),
        point,
      ),
      { operationId: 'test', rootOperationId: 'test', ...where, point, totals: NO_TOTALS, state: new Map() },
      payload,
      {
        onDecision: (record) => void decisions.push(record),
        ask: async (_options, _payload, gate) => ({
          kind: 'deny',
          code: 'would_ask',
          reason: 'a human would be asked here',
          stop: false,
          gateId: gate.id,
        }),
      },
    )
    if (flags.json) console.log(JSON.stringify({ point, apiName: where.apiName, decisions, result }))
    else print(point, where.apiName, decisions as never, result)
  }
}

function readText(file: string): string {
  if (file === '-') return readFileSync(0, 'utf8')
  try {
    return readRegularFile(file).toString()
  } catch (error) {
    throw new UsageError(
      `"${shown(file)}" cannot be read (${errorMessage(error)}). Give a file, or - for what is piped in.`,
    )
  }
}

function print(
  point: GatePoint,
  name: string | undefined,
  decisions: readonly {
    gateId: string
    decision: string
    code?: string
    reason?: string
    enforced: boolean
  }[],
  result: { readonly kind: string },
): void {
  console.log(`${point}${name === undefined ? '' : ` ${shown(name)}`} -> ${result.kind}`)
  const rows = decisions.map(({ gateId, decision, code, reason, enforced }) => [
    '  ',
    gateId,
    `${decision}${enforced ? '' : ' (not enforced)'}`,
    [code, reason].filter(Boolean).join(': '),
  ])
  for (const line of columns(rows)) console.log(line)
}

function readEvents(text: string): unknown[] {
  try {
    return [JSON.parse(text)].flat()
  } catch {
    return text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line, index) => {
        try {
          return JSON.parse(line) as unknown
        } catch (error) {
          throw new UsageError(`Line ${index + 1} is not JSON: ${errorMessage(error)}`)
        }
      })
  }
}

interface Question {
  readonly point: GatePoint
  readonly payload: unknown
  readonly apiName?: string
  readonly identifier?: string
  readonly [more: string]: unknown
}

/** What of an event a gate decides on, by the name of the event. */
const PAYLOAD: Readonly<Record<string, (event: Record<string, unknown>) => unknown>> = {
  onStart: (event) => event.input,
  beforeLlmCall: (event) => event.request,
  afterLlmCall: (event) => event.response,
  beforeToolCall: (event) => event.args,
  afterToolCall: (event) => event.result ?? event.content,
  beforeCallAgent: (event) => event.instruction,
  beforeCompact: ({ messageCount, tokenCount }) => ({ messageCount, tokenCount }),
  afterStep: ({ content, toolCalls, usage }) => ({ content, toolCalls, usage }),
  onComplete: ({ reason, content }) => ({ reason, content }),
}

/** None for an event at which nothing is decided. @throws UsageError for what is no event: it would be passed over. */
function questionOf(event: unknown): Question[] {
  const fields = isRecord(event) ? event : {}
  const { point, hookType } = fields
  if (typeof point === 'string') {
    if (GATE_POINTS.includes(point as GatePoint)) return [fields as unknown as Question]
    throw new UsageError(`Unknown gate point "${point}". Known: ${GATE_POINTS.join(', ')}.`)
  }
  if (!isHookType(hookType)) {
    const got = typeof hookType === 'string' ? `one of the type "${hookType}"` : describeValue(event)
    throw new UsageError(
      `Expected events as hooks are told them, with their \`hookType\`, or questions of gates, got ${got}. ` +
        'A run that was exported is none of them: docs/production.md has a hook that records them.',
    )
  }
  const payload = PAYLOAD[hookType]
  if (payload === undefined) return []
  return [
    {
      ...fields,
      point: hookType === 'onComplete' ? 'beforeComplete' : (hookType as GatePoint),
      payload: payload(fields),
    },
  ]
}
