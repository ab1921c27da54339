import { basename, dirname, join } from 'node:path'
import type { RecordedRun } from './recordings/index.ts'

/**
 * A name for each run, made of the label, the file's name and the run's id: a trace's id is derived from it, so the same
 * label gives the same traces whenever and wherever. What would be named alike gets its folder or its position added.
 */
export function operationIdsOf(runs: readonly RecordedRun[], label?: string): Map<RecordedRun, string> {
  const sources = [...new Set(runs.map((run) => run.source))]
  const isAlone = (source: string) =>
    sources.filter((other) => basename(other) === basename(source)).length === 1
  const used = new Set<string>()
  return new Map(
    runs.map((run) => {
      const { source } = run
      const file = isAlone(source) ? basename(source) : join(basename(dirname(source)), basename(source))
      let id = `replay:${label === undefined ? '' : `${label}:`}${file}#${run.id}`
      if (used.has(id)) id = `${id}@${run.index}`
      for (let copy = 2; used.has(id); copy++) id = `${id}+${copy}`
      used.add(id)
      return [run, id]
    }),
  )
}
