/** The numbers of runs and of origins. None is given twice: somebody may still know what a removed one was. */

type Numbered = 'run' | 'origin'

const lastRemoved = (table: Numbered) => `'last removed ${table}'`

/** SQL for the number of the next row. */
export const nextId = (table: Numbered): string => `1 + max((SELECT coalesce(max(id), 0) FROM ${table}),
  coalesce((SELECT value FROM meta WHERE key = ${lastRemoved(table)}), 0))`

/** SQL to be run with the number of each row that is removed. */
export const rememberRemoved = (table: Numbered): string =>
  `INSERT INTO meta (key, value) VALUES (${lastRemoved(table)}, ?)
   ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)`
