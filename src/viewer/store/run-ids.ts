/** The numbers of runs. None is given twice: another viewer of the file may still know what a removed run was. */

/** As the key of `meta`. */
const LAST_REMOVED = "'last removed run'"

/** SQL for the number of the next run. */
export const NEXT_RUN = `1 + max((SELECT coalesce(max(id), 0) FROM run),
  coalesce((SELECT value FROM meta WHERE key = ${LAST_REMOVED}), 0))`

/** SQL to be run with the number of each run that is removed. */
export const REMEMBER_REMOVED = `INSERT INTO meta (key, value) VALUES (${LAST_REMOVED}, ?)
  ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)`
