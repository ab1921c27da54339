import { execFile } from 'node:child_process'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { environment } from './environment.ts'
import { median } from './statistics.ts'
import type { Effort, Sample, Suite, SuiteResult, Variant, VariantResult } from './types.ts'

const child = fileURLToPath(new URL('./child.ts', import.meta.url))
const run = promisify(execFile)

export interface MeasureOptions {
  readonly rounds: number
  effortOf(variant: Variant): Effort
  readonly variants: readonly Variant[]
  onProgress(text: string): void
}

/** All variants of a suite, each in a fresh process, in an order that is reversed in every other round. */
export async function measure(suite: Suite, options: MeasureOptions): Promise<SuiteResult> {
  const loadBefore = loadavg()[0] as number
  const samples = new Map<string, Sample[]>()
  const errors = new Map<string, string>()
  for (let round = 0; round < options.rounds; round++) {
    const order = round % 2 === 0 ? options.variants : options.variants.toReversed()
    for (const variant of order) {
      const { id } = variant
      options.onProgress(`${suite.id} round ${round + 1}/${options.rounds} ${id}`)
      try {
        const sample = await sampleOf(suite.id, id, options.effortOf(variant))
        samples.set(id, [...(samples.get(id) ?? []), sample])
      } catch (error) {
        errors.set(id, lastLines(error))
      }
    }
  }
  const variants = options.variants.map((variant) =>
    summary(variant, samples.get(variant.id) ?? [], errors.get(variant.id)),
  )
  return { suite: suite.id, environment: environment(loadBefore), effort: suite.effort, variants }
}

async function sampleOf(suiteId: string, variantId: string, effort: Effort): Promise<Sample> {
  const args = ['--expose-gc', child, suiteId, variantId, JSON.stringify(effort)]
  const { stdout } = await run(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 })
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) as string)
}

function summary(variant: Variant, samples: readonly Sample[], error: string | undefined): VariantResult {
  const rounds = samples.map(({ value }) => value)
  const named = Object.keys(samples[0]?.values ?? {})
  const values = named.map((name) => [name, median(samples.map((sample) => sample.values?.[name] as number))])
  return {
    id: variant.id,
    title: variant.title,
    ...(variant.group !== undefined && { group: variant.group }),
    median: median(rounds),
    rounds,
    ...(named.length > 0 && { values: Object.fromEntries(values) }),
    proof: samples.at(-1)?.proof ?? {},
    ...(error !== undefined && { error }),
  }
}

/** Variants that are compared must have done the same: what differs, where they did not. */
export function differences(suite: Suite, { variants }: SuiteResult): string[] {
  const found: string[] = []
  for (const { key, ids } of suite.sameProof ?? []) {
    const done = variants.filter(({ id, rounds }) => ids.includes(id) && rounds.length > 0)
    const proofs = new Set(done.map(({ proof }) => proof[key]))
    if (proofs.size <= 1) continue
    const shown = done.map(({ id, proof }) => `  ${id}: ${proof[key]}`).join('\n')
    found.push(`Variants of "${suite.id}" did not do the same (${key}):\n${shown}`)
  }
  return found
}

function lastLines(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string }
  return (stderr || message).trim().split('\n').slice(-12).join('\n')
}
