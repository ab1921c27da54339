import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { GEN_AI, HOOKSPAN } from 'hookspan/tracing'
import { expect, it } from 'vitest'
import { Driver } from './drive.ts'
import { runPlan } from './plans.ts'
import { spansFrom } from './sources.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(root, 'docs/attributes.md'), 'utf8')
const documented = new Set([...page.matchAll(/^\| `([\w.]+)` +\|/gm)].map(([, name]) => name as string))

/** Files that only read spans, of ours and of others. */
const READERS = /^(viewer\/|mock\/trajectory\/)/

/** What looks like the name of an attribute and is none. */
const OTHERS = new Map([
  ['hookspan.alwaysAllow', 'a key of what gates keep'],
  ['hookspan.bytes', 'a mark in what an engine keeps'],
  ['hookspan.call', 'a mark on a client'],
  ['hookspan.checkpoint', 'the format of a saved record'],
  ['hookspan.config', 'a file, before its ending'],
  ['hookspan.config.', 'files of that name, whatever their ending'],
  ['hookspan.config.yaml', 'a file'],
  ['hookspan.date', 'a mark in what an engine keeps'],
  ['hookspan.log.', 'ids of hooks'],
  ['hookspan.matcher', 'a symbol'],
  ['hookspan.register', 'a symbol'],
  ['hookspan.mocks.', 'ids of hooks'],
  ['hookspan.plain', 'a mark in what an engine keeps'],
  ['hookspan.recorder.', 'ids of hooks'],
  ['hookspan.replay.', 'ids of hooks'],
  ['hookspan.setup', 'a file'],
  ['hookspan.run', 'the format of a saved run'],
  ['gen_ai.agent.id', 'for hosted agents, and never written'],
  ['gen_ai.token.type', 'on metrics'],
  ['gen_ai.token.modality', 'on metrics'],
  ['user.message', "an event of Copilot's SDK"],
])

/** Every text in the sources that has the shape of a name, and where it stands. */
function namesIn(isOf: (path: string) => boolean): Map<string, string> {
  const found = new Map<string, string>()
  const src = join(root, 'src')
  for (const path of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.ts') || path.endsWith('.test.ts') || !isOf(path)) continue
    const code = readFileSync(join(src, path), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    for (const [, name = ''] of code.matchAll(/['"`]((?:hookspan|gen_ai|langfuse|exception)\.[\w.]*)/g))
      found.set(name, path)
    for (const [, name = ''] of code.matchAll(/'((?:error|server|user|url)\.[a-z]+)'/g)) found.set(name, path)
  }
  return found
}

it('documents every name that any code can write, and no other', () => {
  const written = namesIn((path) => !READERS.test(path))
  // What `redact` is told of a failure's message.
  written.delete('error.message')
  expect([...written].filter(([name]) => !documented.has(name) && !OTHERS.has(name))).toEqual([])
  // OpenTelemetry's own name of an event, a word without a dot.
  expect([...documented].filter((name) => !written.has(name) && name !== 'exception')).toEqual([])
  expect([...OTHERS.keys()].filter((name) => !written.has(name))).toEqual([])
  expect(written.size).toBeGreaterThan(100)
})

it('reads back no name of ours that nothing writes', () => {
  const read = [...namesIn((path) => READERS.test(path)).keys()].filter((name) => /^hookspan\./.test(name))
  expect(read.length).toBeGreaterThan(20)
  expect(read.filter((name) => !documented.has(name) && !OTHERS.has(name))).toEqual([])
})

/** What no plan brings about: content that is cut, runs that stay parked, and the spans of dead processes. */
const UNPLANNED: readonly string[] = [
  HOOKSPAN.contentCut,
  HOOKSPAN.contentCutBytes,
  HOOKSPAN.operationAbandoned,
  HOOKSPAN.operationWaitingFor,
  HOOKSPAN.spanState,
]

/** Names whose row in the page lists each value that they can have. */
const LISTED =
  /^(gen_ai\.tool\.type|hookspan\.(tool\.(outcome|source)|human\.(action|outcome)|stream\.end|gate\.decision|operation\.reason))$/

it('documents every attribute and event of random runs, which have nearly all there are', async () => {
  const seen = new Set<string>()
  const values = new Set<string>()
  for (const plan of fc.sample(runPlan(2), { numRuns: 150, seed: 7 })) {
    const { tracer } = await spansFrom((dispatcher) => new Driver(dispatcher).finish(plan))
    for (const { attributes, events } of tracer) {
      for (const [name, value] of Object.entries(attributes)) {
        seen.add(name)
        if (LISTED.test(name)) values.add(`${name} ${value}`)
      }
      for (const event of events) {
        seen.add(event.name)
        for (const name of Object.keys(event.attributes ?? {})) seen.add(name)
      }
    }
  }
  // The runtime's own.
  for (const name of ['tenant', 'tier', 'beta']) expect(seen.delete(name)).toBe(true)

  expect([...seen].filter((name) => !documented.has(name))).toEqual([])
  expect(Object.values(HOOKSPAN).filter((name) => !seen.has(name) && !UNPLANNED.includes(name))).toEqual([])
  expect(seen).toContain(GEN_AI.toolCallResult)

  const lines = page.split('\n')
  const isListed = (told: string) => {
    const [name, value] = told.split(' ')
    return lines.some((line) => line.startsWith(`| \`${name}\``) && line.includes(`\`${value}\``))
  }
  expect([...values].filter((told) => !isListed(told))).toEqual([])
  expect(values).toContain('gen_ai.tool.type extension')
})
