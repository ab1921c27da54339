import { lstatSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { CONFIG_NAMES } from '../policies/config/names.ts'

/** Whether there is a `hookspan.config.*` of the user or the project: what reads it costs more than to look. */
export function projectHasConfig(): boolean {
  return folders().some((folder) => CONFIG_NAMES.some((name) => isThere(join(folder, name))))
}

/** A link that leads to nothing is there, too. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function folders(): string[] {
  const { HOOKSPAN_CONFIG_HOME, XDG_CONFIG_HOME } = process.env
  const user = HOOKSPAN_CONFIG_HOME ?? join(XDG_CONFIG_HOME || join(homedir(), '.config'), 'hookspan')
  const all = [user]
  for (let at = process.cwd(); ; at = dirname(at)) {
    all.push(at)
    if (dirname(at) === at) return all
  }
}
