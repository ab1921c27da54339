import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
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

/**
 * Whether a config file is there. A link that leads to nothing is, too: what it should hold is not to be left out.
 *
 * @throws where that may not be looked at: there may be guards.
 */
export function isConfigThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (cause) {
    const folder = dirname(path)
    const code = codeOf(cause)
    if (code === 'ENOTDIR' && isBelowFile(folder)) return false
    const mend =
      code === 'ERR_ACCESS_DENIED'
        ? `Under --permission let Node look there: --allow-fs-read=${join(folder, 'hookspan.config.*')}`
        : 'Let this process read the folder, or name another one of the user by HOOKSPAN_CONFIG_HOME.'
    throw new Error(
      `It cannot be seen whether there is a hookspan.config.* in ${folder} (${code}). ${mend}`,
      { cause },
    )
  }
}

/** Below a home that is no folder, as `/dev/null` is that of many a service's account. */
function isBelowFile(folder: string): boolean {
  try {
    lstatSync(folder)
    return false
  } catch (error) {
    return codeOf(error) === 'ENOTDIR'
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code
