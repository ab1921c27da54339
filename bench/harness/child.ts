/** Runs one variant of one suite and prints its sample as JSON. Started by run.ts, one process per measurement. */
import { suites } from '../suites/index.ts'
import { median } from './statistics.ts'
import type { Effort, Sample, Suite, Workload } from './types.ts'

const [suiteId, variantId, effortJson] = process.argv.slice(2)
const suite = suites.find(({ id }) => id === suiteId)
const variant = suite?.variants.find(({ id }) => id === variantId)
if (suite === undefined || variant === undefined) throw new Error(`No variant "${suiteId} ${variantId}".`)

const loaded = await variant.load()
const sample = typeof loaded === 'function' ? await measured(loaded) : await timed(suite, loaded)
process.stdout.write(`\n${JSON.stringify(sample)}\n`)
process.exit(0)

async function measured(measure: Extract<typeof loaded, () => unknown>): Promise<Sample> {
  const { values, proof } = await measure()
  return { value: Object.values(values)[0] ?? Number.NaN, values, proof }
}

async function timed(suite: Suite, workload: Workload): Promise<Sample> {
  const { warmups, batches, count } = JSON.parse(effortJson ?? 'null') as Effort
  for (let i = 0; i < warmups; i++) await workload.run(count)
  const values: number[] = []
  for (let i = 0; i < batches; i++) {
    globalThis.gc?.({ type: 'minor' })
    const before = now(suite.clock)
    const running = workload.run(count)
    // Awaiting what is no promise would put a microtask into the time of synchronous work.
    if (running !== undefined) await running
    values.push((now(suite.clock) - before) / count)
  }
  const proof = await workload.verify((warmups + batches) * count)
  return { value: median(values) / (suite.unit === 'us' ? 1_000 : 1), proof }
}

/** Nanoseconds. */
function now(clock: Suite['clock']): number {
  if (clock === 'wall') return performance.now() * 1e6
  const { user, system } = process.cpuUsage()
  return (user + system) * 1_000
}
