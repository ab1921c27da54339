import { readFileSync } from 'node:fs'
import { root } from '../harness/environment.ts'
import type { Suite, Variant } from '../harness/types.ts'
import { IMPORT_PAIRS } from './amounts.ts'

const { exports } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))

/** What a program can import with this package alone; the others need the test runner that they are made for. */
const variants = Object.entries<{ default?: string }>(exports).flatMap(([name, target]): Variant[] => {
  const file = target.default
  if (file === undefined || name.startsWith('./vitest')) return []
  const title = `\`${name.replace(/^\./, 'hookspan')}\``
  return [{ id: title.slice(1, -1), title, load: async () => (await import('./import-ways.ts')).over(file) }]
})

export const importing: Suite = {
  id: 'import',
  title: 'Importing it',
  notes: [
    `Milliseconds of processor time that \`import()\` takes, over those of an empty module: pairs of fresh processes, ${IMPORT_PAIRS} in each round, in an order that alternates. Node reads the files from a warm disk; the peers of a subpath, where it has some, are installed.`,
  ],
  unit: 'ms',
  clock: 'cpu',
  rounds: 3,
  effort: { warmups: 0, batches: 1, count: 1 },
  baselines: [],
  variants,
  aims: [
    {
      text: 'importing the root, over importing nothing',
      measure: (of) => of('hookspan'),
      atMost: 15,
      unit: 'ms',
    },
  ],
}
