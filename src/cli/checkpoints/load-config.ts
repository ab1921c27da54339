import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CheckpointStore, ResumeAgentOptions } from '../../agent/index.ts'
import { errorSentence } from '../../internal/errors.ts'
import { isRecord } from '../../internal/objects.ts'
import { UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'

/** What a program says about its runs: all that `resumeAgent` takes but the run, and how to end what it opened. */
export interface RunsConfig extends Omit<ResumeAgentOptions, 'state' | 'operationId'> {
  close?(): void | Promise<void>
}

const WANTED = '`export default { agent, dispatcher, checkpoint }`, or a function that gives it'

/**
 * A module's default export, or what the function that is its default export gives.
 *
 * @throws UsageError for a file that cannot be loaded, or gives no such thing.
 */
async function loadRunsConfig(file: string): Promise<RunsConfig> {
  const path = resolve(file)
  let config: unknown
  try {
    if (!statSync(path).isFile()) throw new Error('it is no file')
    const { default: given } = (await import(pathToFileURL(path).href)) as { default?: unknown }
    config = typeof given === 'function' ? await given() : given
  } catch (error) {
    const why = `"${shown(file)}" cannot be loaded: ${errorSentence(error)} Give a JavaScript or TypeScript module with ${WANTED}.`
    throw new UsageError(why, { cause: error })
  }
  if (isRecord(config) && isRecord(config.agent)) return config as unknown as RunsConfig
  throw new UsageError(`"${shown(file)}" has no default export with an \`agent\`: give ${WANTED}.`)
}

/** Where the runs are: what the config says, else the file that is named, else the default one. */
export interface CheckpointFlags {
  config?: string
  checkpoints?: string
}

export interface Opened {
  readonly store: true | CheckpointStore
  readonly config: RunsConfig | undefined
  close(): Promise<void>
}

export async function openCheckpoints({ config: file, checkpoints }: CheckpointFlags): Promise<Opened> {
  const { sqliteCheckpoints } = await import('../../agent/index.ts')
  const config = file === undefined ? undefined : await loadRunsConfig(file)
  const own = checkpoints === undefined ? undefined : sqliteCheckpoints({ path: existing(checkpoints) })
  const given = config?.checkpoint
  const store = own ?? (typeof given === 'object' ? given : true)
  return {
    store,
    config,
    async close() {
      await config?.dispatcher?.drain()
      await config?.close?.()
      await own?.dispose?.()
      // What the config made and does not close would keep the command from ending.
      if (config?.close === undefined && typeof given === 'object') await given.dispose?.()
    },
  }
}

/** A misspelt name is no empty list. */
function existing(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return path
  throw new UsageError(
    `There is no file "${shown(path)}". Give the one that \`sqliteCheckpoints\` was given.`,
  )
}
