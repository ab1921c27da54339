import type { Baseline, Environment, Suite, SuiteResult, VariantResult } from './types.ts'

/** The results of a suite as Markdown: one table per group, then its aims. */
export function suiteReport(suite: Suite, result: SuiteResult): string {
  const groups = Map.groupBy(result.variants, ({ group }) => group ?? '')
  const tables = [...groups].map(([group, variants]) => {
    const heading = group === '' ? '' : `### ${group}\n\n`
    return (
      heading +
      (variants.some(({ values }) => values) ? valueTable(variants) : table(suite, variants, result))
    )
  })
  return [
    `## ${suite.title}`,
    suite.notes.join('\n\n'),
    ...tables,
    aims(suite, result),
    `<sub>${environmentLine(result.environment)}; ${result.variants[0]?.rounds.length ?? 0} rounds; raw numbers in \`bench/results/${suite.id}.json\`</sub>`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

/** What the numbers hold for, in one line. */
export function environmentLine(environment: Environment): string {
  const { date, commit, cpu, cores, os, node, loadBefore, loadAfter } = environment
  return `${date} UTC, commit ${commit}, ${cpu} (${cores} cores), ${os}, Node ${node}, load ${loadBefore} before and ${loadAfter} after`
}

export function versionsTable(environment: Environment): string {
  const rows = Object.entries(environment.packages).map(([name, version]) => [name, version])
  return markdownTable(['package', 'version'], rows)
}

function table(suite: Suite, variants: readonly VariantResult[], result: SuiteResult): string {
  const of = finder(result)
  const baselines = suite.baselines.filter(({ of: baselineOf }) =>
    variants.some(({ id }) => of(baselineOf(id) ?? '') !== undefined),
  )
  const rows = variants.map((variant) => [
    variant.title,
    variant.error === undefined ? format(variant.median) : 'failed',
    variant.rounds.length === 0
      ? ''
      : `${format(Math.min(...variant.rounds))} to ${format(Math.max(...variant.rounds))}`,
    ...(suite.over === undefined
      ? []
      : [cell(variant.median - (of(suite.over.of(variant.id)) ?? Number.NaN))]),
    ...baselines.map((baseline) => cell(ratioTo(baseline, variant.id, of))),
    ...proofColumns(variants).map((name) => String(variant.proof[name] ?? '')),
  ])
  const over = suite.over === undefined ? [] : [suite.over.title]
  const header = ['', suite.unit, 'lowest to highest round', ...over, ...baselines.map(({ title }) => title)]
  return markdownTable([...header, ...proofColumns(variants)], rows)
}

function ratioTo({ of: baselineOf, floor }: Baseline, id: string, of: Finder): number {
  const above = (variant: string) => {
    const value = of(variant) ?? Number.NaN
    return floor === undefined ? value : value - (of(floor(variant) ?? '') ?? Number.NaN)
  }
  return above(id) / above(baselineOf(id) ?? '')
}

/** Counts that differ between the variants of a table say something; equal ones were only a check. */
function proofColumns(variants: readonly VariantResult[]): string[] {
  const names = new Set(variants.flatMap(({ proof }) => Object.keys(proof)))
  return [...names].filter((name) => name.endsWith('PerRun'))
}

function valueTable(variants: readonly VariantResult[]): string {
  const names = [...new Set(variants.flatMap(({ values }) => Object.keys(values ?? {})))]
  const rows = variants.map(({ title, values, error }) => [
    title,
    ...names.map((name) => (error === undefined ? format(values?.[name] ?? Number.NaN) : 'failed')),
  ])
  return markdownTable(['', ...names], rows)
}

function aims(suite: Suite, result: SuiteResult): string {
  const of = finder(result)
  const lowestOf = finder(result, ({ rounds }) => Math.min(...rounds))
  const rows = suite.aims.flatMap((aim) => {
    const value = aim.measure(of)
    if (value === undefined || Number.isNaN(value)) return []
    return [
      [
        aim.text,
        `${aim.atMost} ${aim.unit}`,
        `${format(value)} ${aim.unit}`,
        `${format(aim.measure(lowestOf) ?? Number.NaN)} ${aim.unit}`,
        value <= aim.atMost ? 'met' : '**missed**',
      ],
    ]
  })
  return rows.length === 0
    ? ''
    : markdownTable(['aim', 'at most', 'by medians', 'by lowest rounds', ''], rows)
}

type Finder = (id: string) => number | undefined

function finder(
  { variants }: SuiteResult,
  pick: (variant: VariantResult) => number = ({ median }) => median,
): Finder {
  const numbers = new Map(variants.map((variant) => [variant.id, pick(variant)]))
  return (id) => numbers.get(id)
}

function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = line(header.map((_cell, index) => (index === 0 ? '---' : '---:')))
  return [line(header), rule, ...rows.map(line)].join('\n')
}

function cell(value: number): string {
  return Number.isFinite(value) ? format(value) : ''
}

function format(value: number): string {
  const size = Math.abs(value)
  if (Number.isNaN(value)) return ''
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}
