/** The gates and hooks for which this process is run, as their commands are: `encodeURIComponent` of each id, with commas between. */
const VARIABLE = 'HOOKSPAN_RUN_ASKED_FOR'

/** What a command of that gate or hook has in its environment, and hands on to what it runs. */
export function askedFor(id: string): Record<string, string> {
  const ids = [process.env[VARIABLE], encodeURIComponent(id)]
  return { [VARIABLE]: ids.filter(Boolean).join(',') }
}

/** Whether somebody waits for this process to end, to decide or to be told of the next event. */
export function isWaitedFor(): boolean {
  return Boolean(process.env[VARIABLE])
}

/** Whether this process, or one above it, is run for that gate or hook. */
export function isAskedFor(id: string): boolean {
  return (process.env[VARIABLE] ?? '').split(',').includes(encodeURIComponent(id))
}
