/**
 * Loaded late: most programs need no SQLite.
 *
 * @throws Error where this process has none, as under `--no-experimental-sqlite`.
 */
export function loadSqlite(): typeof import('node:sqlite') {
  const sqlite: typeof import('node:sqlite') | undefined = process.getBuiltinModule('node:sqlite')
  if (sqlite === undefined) throw new Error('this process has no `node:sqlite`; was it switched off?')
  return sqlite
}
