import { dirname } from 'node:path'
import { assertGate } from '../../gates/gate.ts'
import { GATE_POINTS, type Gate } from '../../gates/index.ts'
import { assertHook } from '../../hooks/agent-hook.ts'
import type { AgentHook } from '../../hooks/index.ts'
import { describeValue, errorMessage } from '../../internal/errors.ts'
import { didYouMean, unshown } from '../../internal/expect.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { GATE_TYPES, SHARED_OPTIONS } from './gate-types.ts'
import { HOOK_FIELDS, HOOK_KINDS } from './hook-kinds.ts'
import { MOCK_OPTIONS, standInOf } from './mock-kind.ts'
import { type ConfigPath, type ConfigSource, configError } from './source.ts'
import type { ConfigLayer, GateType, LayerName, LoadedEntry } from './types.ts'

const LAYER_FIELDS = ['$schema', 'version', 'gates', 'hooks', 'disable']
/** The type of an entry of `hooks` that stands in for tools. */
const MOCK = 'mock'
/** Where `${NAME}` stands for a variable of the environment, and nowhere else. */
const ENV_FIELDS = ['url', 'secret', 'headers', 'env']

export interface BuildContext {
  readonly layer: LayerName
  readonly gateTypes: Readonly<Record<string, GateType>>
  readonly env: Readonly<Record<string, string | undefined>>
}

/** @throws HookspanError `INVALID_CONFIG` naming the file, the line and the nearest name that is known. */
export function buildLayer(
  source: ConfigSource,
  context: BuildContext,
): { entries: LoadedEntry[]; disable: string[] } {
  const fail = (path: ConfigPath, message: string) => configError(source.file, source.lineOf(path), message)
  // An empty file says nothing, which is not a mistake.
  const value = source.value ?? {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw fail([], `expected an object with \`gates\` and \`hooks\`, got ${describeValue(unshown(value))}.`)
  }
  assertFields(value, LAYER_FIELDS, [], 'the config', fail)
  const layer = value as ConfigLayer
  if (layer.version !== undefined && layer.version !== 1) {
    throw fail(['version'], `expected \`version\` 1, got ${describeValue(layer.version)}.`)
  }
  for (const key of ['gates', 'hooks', 'disable'] as const) {
    if (layer[key] === undefined || Array.isArray(layer[key])) continue
    throw fail([key], `expected \`${key}\` to be a list, got ${describeValue(unshown(layer[key]))}.`)
  }
  const build = (kind: 'gate' | 'hook', given: unknown, path: ConfigPath): LoadedEntry => {
    const { id, type, enabled } = assertEntry(given, path, fail)
    const line = source.lineOf(path)
    const made =
      kind === 'gate' ? makeGate(given, path, source, context) : makeHooks(given, path, source, context)
    const shared = defined({ kind, id, layer: context.layer, file: source.file, line })
    return { ...shared, type, active: enabled !== false, ...made }
  }
  const entries = [
    ...(layer.gates ?? []).map((entry, index) => build('gate', entry, ['gates', index])),
    ...(layer.hooks ?? []).map((entry, index) => build('hook', entry, ['hooks', index])),
  ]
  const seen = new Set<string>()
  for (const { id, file, line } of entries) {
    if (seen.has(id)) throw configError(file, line, `two entries have the id "${id}".`)
    seen.add(id)
  }
  for (const [index, id] of (layer.disable ?? []).entries()) {
    if (typeof id !== 'string') throw fail(['disable', index], `expected an id, got ${describeValue(id)}.`)
  }
  return { entries, disable: [...(layer.disable ?? [])] }
}

type Fail = (path: ConfigPath, message: string) => Error

function assertEntry(
  entry: unknown,
  path: ConfigPath,
  fail: Fail,
): { id: string; type: string; enabled?: boolean } {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    throw fail(path, `expected an entry with \`id\` and \`type\`, got ${describeValue(unshown(entry))}.`)
  }
  const { id, type, enabled, decide, handler } = entry as Record<string, unknown>
  if (typeof id !== 'string' || id === '') {
    throw fail(path, `expected \`id\` to be a text that names the entry, got ${describeValue(id)}.`)
  }
  if (enabled !== undefined && typeof enabled !== 'boolean') {
    throw fail(
      [...path, 'enabled'],
      `expected \`enabled\` of "${id}" to be true or false, got ${describeValue(enabled)}.`,
    )
  }
  // A module may bring gates and hooks themselves.
  if (typeof decide === 'function') return { id, type: 'function' }
  if (typeof handler === 'function') return { id, type: 'function' }
  if (typeof type !== 'string') {
    throw fail([...path, 'type'], `expected \`type\` of "${id}" to be a text, got ${describeValue(type)}.`)
  }
  return defined({ id, type, enabled })
}

function makeGate(
  entry: unknown,
  path: ConfigPath,
  source: ConfigSource,
  context: BuildContext,
): { gate: Gate } {
  const fail: Fail = (at, message) => configError(source.file, source.lineOf(at), message)
  const fields = entry as Record<string, unknown> & { id: string; type: string }
  try {
    if (typeof fields.decide === 'function') {
      assertGate(fields)
      return { gate: fields as Gate }
    }
    const types = { ...GATE_TYPES, ...context.gateTypes }
    const type = Object.hasOwn(types, fields.type) ? types[fields.type] : undefined
    if (type === undefined)
      throw fail([...path, 'type'], unknown('gate type', fields.type, Object.keys(types)))
    assertFields(fields, [...SHARED_OPTIONS, ...type.options], path, `gate "${fields.id}"`, fail)
    assertPoints(fields.point, path, fail)
    const { type: _type, enabled: _enabled, ...options } = withEnv(fields, path, context.env, fail)
    const gate = type.create(options as never, { folder: dirname(source.file) })
    assertGate(gate)
    return { gate }
  } catch (error) {
    throw located(error, fail, path)
  }
}

function makeHooks(
  entry: unknown,
  path: ConfigPath,
  source: ConfigSource,
  context: BuildContext,
): { hooks: AgentHook[] } | Required<Pick<LoadedEntry, 'standIn' | 'standsInFor'>> {
  const fail: Fail = (at, message) => configError(source.file, source.lineOf(at), message)
  const fields = entry as Record<string, unknown> & { id: string; type: string }
  try {
    if (typeof fields.handler === 'function') {
      assertHook(fields)
      return { hooks: [fields as unknown as AgentHook] }
    }
    if (fields.type === MOCK) {
      assertFields(fields, ['type', 'enabled', ...MOCK_OPTIONS], path, `mock "${fields.id}"`, fail)
      const { type: _type, enabled: _enabled, ...entry } = fields
      return { standIn: standInOf(entry), standsInFor: entry.match as string }
    }
    const kind = Object.hasOwn(HOOK_KINDS, fields.type) ? HOOK_KINDS[fields.type] : undefined
    if (kind === undefined)
      throw fail([...path, 'type'], unknown('hook type', fields.type, [...Object.keys(HOOK_KINDS), MOCK]))
    assertFields(fields, [...HOOK_FIELDS, ...kind.options], path, `hook "${fields.id}"`, fail)
    const { type: _type, enabled: _enabled, ...entry } = withEnv(fields, path, context.env, fail)
    return { hooks: kind.create(entry as never, dirname(source.file)) }
  } catch (error) {
    throw located(error, fail, path)
  }
}

function located(error: unknown, fail: Fail, path: ConfigPath): unknown {
  return (error as { code?: unknown }).code === 'INVALID_CONFIG' ? error : fail(path, errorMessage(error))
}

function assertPoints(point: unknown, path: ConfigPath, fail: Fail): void {
  if (point === undefined) return
  for (const one of Array.isArray(point) ? point : [point]) {
    if (GATE_POINTS.includes(one)) continue
    throw fail([...path, 'point'], unknown('gate point', one, GATE_POINTS))
  }
}

function assertFields(
  entry: object,
  known: readonly string[],
  path: ConfigPath,
  owner: string,
  fail: Fail,
): void {
  const stray = Object.keys(entry).find((key) => !known.includes(key))
  if (stray !== undefined) throw fail([...path, stray], unknown(`field of ${owner}`, stray, known))
}

function unknown(what: string, name: unknown, known: readonly string[]): string {
  const hint = typeof name === 'string' ? didYouMean(name, known, '"') : ''
  return `unknown ${what} ${describeValue(name)}.${hint} Known: ${known.join(', ')}.`
}

function withEnv(
  entry: Record<string, unknown>,
  path: ConfigPath,
  env: BuildContext['env'],
  fail: Fail,
): Record<string, unknown> {
  const fill = (value: unknown, at: ConfigPath): unknown => {
    if (isRecord(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, [...at, key])]))
    }
    if (typeof value !== 'string') return value
    return value.replace(/\$\{([A-Za-z_]\w*)\}/g, (_text, name: string) => {
      const found = env[name]
      if (found === undefined) throw fail(at, `the environment variable ${name} is not set.`)
      return found
    })
  }
  const filled = ENV_FIELDS.flatMap((key) =>
    key in entry ? [[key, fill(entry[key], [...path, key])] as const] : [],
  )
  return { ...entry, ...Object.fromEntries(filled) }
}
