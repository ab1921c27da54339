import { homedir, platform } from 'node:os'
import { join } from 'node:path'

/** Where hookspan keeps what nobody named a place for: the data folder of the user, by the custom of the system. */
export function dataFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env.HOOKSPAN_HOME) return env.HOOKSPAN_HOME
  if (platform() === 'win32') return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'hookspan')
  if (platform() === 'darwin') return join(homedir(), 'Library', 'Application Support', 'hookspan')
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'hookspan')
}
