import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CONFIG_NAMES, userConfigFolder } from '../policies/config/names.ts'

/** Whether there is a `hookspan.config.*` of the user or the project: what reads it costs more than to look. */
export function projectHasConfig(): boolean {
  return folders().some((folder) => CONFIG_NAMES.some((name) => isThere(join(folder, name))))
}

/** A link that leads to nothing is there, too. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function folders(): string[] {
  const user = userConfigFolder(process.env)
  const all = user === undefined ? [] : [user]
  for (let at = process.cwd(); ; at = dirname(at)) {
    all.push(at)
    if (dirname(at) === at) return all
  }
}
