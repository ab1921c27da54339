import { basename, dirname, join } from 'node:path'
import type { RecordedRun } from './recordings/index.ts'

/**
 * A name for each run that stays the same whenever and wherever it is replayed, made of the file's name and the
 * run's id: a trace's id is derived from it. What would be named alike gets its folder or its position added.
 *
 * @param label Joined to each name, so that the same recording makes other traces.
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
