import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { HookDispatcher, type HookspanError } from 'hookspan'
import type { Approver, Gate } from 'hookspan/gates'
import {
  budget,
  loadConfig,
  loadConfigSync,
  loopGuard,
  redact,
  requireHuman,
  toolCache,
  toolPolicy,
} from 'hookspan/policies'
import { stringify as toToml } from 'smol-toml'
import { afterAll, expect, it } from 'vitest'
import { stringify as toYaml } from 'yaml'
import { globbed } from '../mock/model/rules.ts'

/** More of them look further: `MODEL_RUNS=5000`; `MODEL_SEED=17` has the same ones again. */
const RUNS = Number(process.env.MODEL_RUNS ?? 100)
const seed = process.env.MODEL_SEED === undefined ? {} : { seed: Number(process.env.MODEL_SEED) }

const folder = mkdtempSync(join(tmpdir(), 'hookspan-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const MAKE = { toolPolicy, budget, loopGuard, redact, toolCache, requireHuman } as Record<
  string,
  (options: object) => Gate
>

type Entry = Readonly<Record<string, unknown>> & {
  readonly id: string
  readonly type: string
  readonly enabled?: boolean
}
interface Layer {
  readonly gates: readonly Entry[]
  readonly hooks: readonly Entry[]
  readonly disable: readonly string[]
}

const some = <T extends object>(
  fields: { [K in keyof T]: fc.Arbitrary<T[K]> },
  requiredKeys: (keyof T)[] = [],
) => fc.record(fields, { requiredKeys: requiredKeys as never })
const globs = fc.constantFrom(['find'], ['shop/*'], ['f*', 'book'], ['b??k'])

const options: Readonly<Record<string, fc.Arbitrary<object>>> = {
  toolPolicy: some({
    allow: fc.constantFrom(['*'], ['find', 'book'], ['shop/*', 'f*']),
    deny: globs,
    denyArguments: fc.constantFrom<object>({ to: 'Os' }, { '*': ['^R', 'x{2}'] }, { 'a.b': ['1'] }),
  }).filter((one) => Object.keys(one).length > 0),
  budget: some({ maxToolCalls: fc.nat(4), maxSteps: fc.nat(3), stop: fc.boolean() }).filter(
    (one) => 'maxToolCalls' in one || 'maxSteps' in one,
  ),
  loopGuard: some({ maxRepeats: fc.constantFrom(1, 2), window: fc.constantFrom(3, 20), ignore: globs }),
  redact: some({
    in: fc.constantFrom(['toolArguments', 'toolResult'], ['toolResult']),
    patterns: fc.constant({ city: 'Oslo' }),
  }),
  toolCache: some({ match: globs, scope: fc.constant('run') }, ['match']),
  requireHuman: some({
    match: globs,
    allow: fc.constantFrom(['approve', 'reject'], ['approve', 'edit', 'reject']),
    instructions: fc.constant('why'),
  }),
}

const id = fc.constantFrom('one', 'two', 'three', 'four', 'five')
const gate: fc.Arbitrary<Entry> = fc
  .constantFrom(...Object.keys(options))
  .chain((type) =>
    fc
      .tuple(
        id,
        options[type] as fc.Arbitrary<object>,
        some({ enabled: fc.boolean(), priority: fc.constantFrom(1, 100, -5), shadow: fc.boolean() }),
      )
      .map(([name, own, shared]) => ({ id: `g-${name}`, type, ...own, ...shared })),
  )
const value = fc.constantFrom<unknown>('Oslo', 'Rome', 1, '1', true, ['a', { b: 1 }], { b: 1, c: 'x' }, 1.5)
const mock: fc.Arbitrary<Entry> = fc
  .record({
    id,
    match: fc.constantFrom('find', 'book', '*', 'shop/*', 'b??k'),
    when: fc.option(
      fc.dictionary(fc.constantFrom('to', 'a', 'n'), fc.oneof(value, fc.constant(null)), {
        maxKeys: 2,
        noNullPrototype: true,
      }),
      { nil: undefined },
    ),
    answer: fc.oneof(
      value.map((returns) => ({ returns })),
      fc.constantFrom({ throws: 'sold out' }, { throws: '' }),
    ),
    enabled: fc.option(fc.boolean(), { nil: undefined }),
  })
  .map(({ id: name, answer, when, enabled, match }) => ({
    ...{ id: `m-${name}`, type: 'mock', match, ...answer },
    ...(when !== undefined && { when }),
    ...(enabled !== undefined && { enabled }),
  }))
const layer: fc.Arbitrary<Layer> = fc.record({
  gates: fc.uniqueArray(gate, { maxLength: 3, selector: (one) => one.id }),
  hooks: fc.uniqueArray(mock, { maxLength: 3, selector: (one) => one.id }),
  disable: fc.uniqueArray(
    fc.constantFrom('one', 'two').chain((name) => fc.constantFrom(`g-${name}`, `m-${name}`)),
    { maxLength: 2 },
  ),
})

const FORMATS: Readonly<Record<string, (value: Layer) => string>> = {
  yaml: (value) => toYaml(value),
  json: (value) => JSON.stringify(value, null, 2),
  // Which has no word for it.
  toml: (value) => toToml(JSON.parse(JSON.stringify(value).replaceAll('null', '"none"'))),
}

interface Call {
  readonly apiName: string
  readonly identifier: string
  readonly args: Record<string, unknown>
}
const calls: fc.Arbitrary<Call[]> = fc.array(
  fc.record({
    apiName: fc.constantFrom('find', 'book', 'pay'),
    identifier: fc.constantFrom('local', 'shop'),
    args: fc.dictionary(fc.constantFrom('to', 'a', 'n', 'more'), fc.oneof(value, fc.constant(null)), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  }),
  { minLength: 1, maxLength: 8 },
)

/** What is active, as the docs say it: a layer adds, replaces what has the same id, or disables. */
function laid(layers: readonly Layer[]): { gates: Entry[]; hooks: Entry[] } {
  let all: { kind: 'gates' | 'hooks'; entry: Entry; active: boolean }[] = []
  for (const { disable, ...own } of layers) {
    const added = (['gates', 'hooks'] as const).flatMap((kind) =>
      own[kind].map((entry) => ({ kind, entry, active: entry.enabled !== false })),
    )
    all = [...all.filter(({ entry }) => !added.some((one) => one.entry.id === entry.id)), ...added]
    all = all.map((one) => (disable.includes(one.entry.id) ? { ...one, active: false } : one))
  }
  const of = (kind: 'gates' | 'hooks') =>
    all.filter((one) => one.active && one.kind === kind).map(({ entry }) => entry)
  return { gates: of('gates'), hooks: of('hooks') }
}

/** The first that is meant answers. */
function answerOf(mocks: readonly Entry[], { apiName, identifier, args }: Call): Entry | undefined {
  return mocks.find(({ match, when = {} }) => {
    const named = globbed(match as string, apiName) || globbed(match as string, `${identifier}/${apiName}`)
    return (
      named &&
      Object.entries(when as object).every(([name, wanted]) => name in args && isSame(wanted, args[name]))
    )
  })
}

function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return a === b
  const [one, other] = [Object.entries(a), new Map(Object.entries(b))]
  return (
    Array.isArray(a) === Array.isArray(b) &&
    one.length === other.size &&
    one.every(([key, item]) => other.has(key) && isSame(item, other.get(key)))
  )
}

const approver: Approver = {
  requestApproval: async ({ args }) =>
    JSON.stringify(args).includes('Rome') ? { decision: 'reject', reason: 'no' } : { decision: 'approve' },
}

/** Makes the calls, and says what came of each. */
async function outcomes(dispatcher: HookDispatcher, made: readonly Call[]): Promise<unknown[]> {
  dispatcher.use({ name: 'humans', approver })
  const op = dispatcher.startOperation({ operationId: 'run', agentName: 'a' })
  const found: unknown[] = []
  for (const call of made) {
    await op
      .step(async (step) => {
        const outcome = await step.toolCall(call, (args) => ({ real: call.apiName, args, mail: 'an@na.no' }))
        found.push({
          ...outcome,
          told: outcome.toToolMessage().content,
          error: 'error' in outcome && String(outcome.error),
        })
      })
      .catch((error: Error) => found.push(error.message))
  }
  await op.complete()
  return found
}

function byHand(layers: readonly Layer[]): HookDispatcher {
  const { gates, hooks } = laid(layers)
  const dispatcher = new HookDispatcher()
  const made = gates.map(({ type, enabled: _enabled, ...own }) =>
    (MAKE[type] as (options: object) => Gate)(own),
  )
  dispatcher.use({ name: 'by hand', gates: made })
  dispatcher.use({
    name: 'mocks',
    standIn: ({ apiName, identifier, args }) => {
      const entry = answerOf(hooks, { apiName, identifier, args: args as never })
      if (entry === undefined) return undefined
      const { throws, returns } = entry
      const content = typeof returns === 'string' ? returns : JSON.stringify(returns)
      return {
        mock: throws === undefined ? { content, data: returns } : { error: new Error(String(throws)) },
        source: 'mock',
        rule: entry.id,
      }
    },
  })
  return dispatcher
}

/** Only what is there can be disabled. */
function known(layers: readonly Layer[]): Layer[] {
  const ids = new Set<string>()
  return layers.map((one) => {
    for (const { id } of [...one.gates, ...one.hooks]) ids.add(id)
    return { ...one, disable: one.disable.filter((id) => ids.has(id)) }
  })
}

function written(
  layers: readonly Layer[],
  format: string,
): { file: string; userFile: string | false; run?: Layer } {
  const [project, user, run] = layers
  const put = (name: string, one: Layer) => {
    const file = join(folder, `${name}.config.${format}`)
    writeFileSync(file, (FORMATS[format] as (value: Layer) => string)(one))
    return file
  }
  return {
    file: put('project', project as Layer),
    userFile: user === undefined ? false : put('user', user),
    ...(run !== undefined && { run }),
  }
}

it(
  'is what the same things registered by hand are, in each format and in layers',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(layer, { minLength: 1, maxLength: 3 }),
        fc.constantFrom(...Object.keys(FORMATS)),
        calls,
        async (random, format, made) => {
          const drawn =
            format === 'toml' ? JSON.parse(JSON.stringify(random).replaceAll('null', '"none"')) : random
          const [project, user, run] = drawn
          const ordered = known([...(user ? [user] : []), project as Layer, ...(run ? [run] : [])])
          const at = ordered.length > 1 ? 1 : 0
          const layers = [ordered[at], ...(at === 1 ? [ordered[0]] : []), ...ordered.slice(2)] as Layer[]
          const { plugin } = loadConfigSync(written(layers, format) as never)
          const configured = new HookDispatcher()
          configured.use(plugin)
          const found = await outcomes(configured, made)
          expect(found, JSON.stringify(laid(ordered))).toEqual(await outcomes(byHand(ordered), made))
        },
      ),
      { numRuns: RUNS, ...seed },
    )
  },
  Math.max(60_000, RUNS * 50),
)

/** Objects whose keys are known: the file, its entries. */
function misspell(text: Layer, at: number): { value: object; key: string; meant: string } | undefined {
  const value = structuredClone(text) as unknown as Record<string, unknown>
  const parts = [
    value,
    ...(text.gates.length > 0 ? (value.gates as object[]) : []),
    ...(text.hooks.length > 0 ? (value.hooks as object[]) : []),
  ]
  const part = parts[at % parts.length] as Record<string, unknown>
  const keys = Object.keys(part).filter((key) => key.length > 3 && key !== 'type')
  const meant = keys[at % keys.length]
  if (meant === undefined) return undefined
  const place = 1 + (at % (meant.length - 1))
  const key =
    at % 2 === 0
      ? meant.slice(0, place) + meant.slice(place + 1)
      : meant.slice(0, place) + meant[place] + meant.slice(place)
  if (key === meant || key in part) return undefined
  part[key] = part[meant]
  delete part[meant]
  return { value, key, meant }
}

it(
  'refuses a misspelt key wherever keys are known, with the one that was meant and the line',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        layer,
        fc.constantFrom(...Object.keys(FORMATS)),
        fc.nat(1_000),
        async (drawn, format, at) => {
          const one = { ...drawn, disable: [] }
          const wrong = misspell(one, at)
          fc.pre(wrong !== undefined)
          const { value, key, meant } = wrong as NonNullable<typeof wrong>
          const { file } = written([value as Layer], format)
          const refused = await loadConfig({ file, userFile: false }).catch((error: HookspanError) => error)
          expect(refused, `${key} for ${meant}`).toMatchObject({ code: 'INVALID_CONFIG' })
          const { message } = refused as HookspanError
          expect(message).toContain(`"${key}"`)
          expect(message).toContain(`Did you mean "${meant}"?`)
          expect(message.startsWith(`${file}:`), message).toBe(true)
        },
      ),
      { numRuns: RUNS, ...seed },
    )
  },
  Math.max(60_000, RUNS * 50),
)
