import { join } from 'node:path'
import { homeFolder } from '../../internal/user.ts'

export const MODULES: readonly string[] = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs']

/** What a config file may be called. */
export const CONFIG_NAMES: readonly string[] = [...MODULES, '.json', '.yaml', '.yml', '.toml'].map(
  (ext) => `hookspan.config${ext}`,
)

/** Where the user's own config file is looked for. Undefined for a user who has no home. */
export function userConfigFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const { HOOKSPAN_CONFIG_HOME, XDG_CONFIG_HOME } = env
  if (HOOKSPAN_CONFIG_HOME) return HOOKSPAN_CONFIG_HOME
  const home = homeFolder()
  const folder = XDG_CONFIG_HOME || (home && join(home, '.config'))
  return folder && join(folder, 'hookspan')
}
