import { dirname, join } from 'node:path'
import { CONFIG_NAMES, isConfigThere, userConfigFolder } from '../policies/config/names.ts'

/** Whether there is a `hookspan.config.*` of the user or the project: what reads it costs more than to look. */
export function projectHasConfig(): boolean {
  return folders().some((folder) => CONFIG_NAMES.some((name) => isConfigThere(join(folder, name))))
}

function folders(): string[] {
  const user = userConfigFolder(process.env)
  const all = user === undefined ? [] : [user]
  for (let at = process.cwd(); ; at = dirname(at)) {
    all.push(at)
    if (dirname(at) === at) return all
  }
}
