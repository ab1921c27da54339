import { platform } from 'node:os'
import { join } from 'node:path'
import { HookspanError } from './errors.ts'
import { homeFolder } from './user.ts'

/**
 * Where hookspan keeps what nobody named a place for: the data folder of the user, by the custom of the system.
 *
 * @throws HookspanError `INVALID_OPTION` for a user who has no home.
 */
export function dataFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env.HOOKSPAN_HOME) return env.HOOKSPAN_HOME
  if (platform() === 'win32') return join(env.LOCALAPPDATA ?? join(home(), 'AppData', 'Local'), 'hookspan')
  if (platform() === 'darwin') return join(home(), 'Library', 'Application Support', 'hookspan')
  return join(env.XDG_DATA_HOME || join(home(), '.local', 'share'), 'hookspan')
}

function home(): string {
  const folder = homeFolder()
  if (folder !== undefined) return folder
  const mend = 'Set HOOKSPAN_HOME to a folder that may be written.'
  throw new HookspanError('INVALID_OPTION', `This user has no home, where files could be kept. ${mend}`)
}
