import { isUtf8 } from 'node:buffer'
import { lstatSync, realpathSync, statSync } from 'node:fs'
import { dirname, extname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Plugin, StandIn } from '../../dispatcher/index.ts'
import { errorMessage, HookspanError } from '../../internal/errors.ts'
import { a, assertFields, didYouMean, type Fields, required, shape } from '../../internal/expect.ts'
import { readRegularFile } from '../../internal/read-regular-file.ts'
import { homeFolder } from '../../internal/user.ts'
import { buildLayer } from './build.ts'
import { loadModule } from './load-module.ts'
import { CONFIG_NAMES, isConfigThere, MODULES, userConfigFolder } from './names.ts'
import { type ConfigSource, configError, moduleSource, parseConfig, STAYS } from './source.ts'
import type { ConfigLayer, GateType, LayerName, LoadedEntry } from './types.ts'

export interface LoadConfigOptions {
  /** Where the project's file is looked for, and in the folders above. @default the working folder */
  cwd?: string
  /** The project's file, instead of looking for it. One that is missing is an error. */
  file?: string
  /** A project without a file is an error, not one without guards. @default false */
  required?: boolean
  /** The user's file; false for none. @default hookspan.config.* in the user's config folder */
  userFile?: string | false
  /** What the tenant, the workspace or whatever this run is in adds or disables: above the project, below the run. */
  realm?: ConfigLayer
  /** What this run adds or disables. */
  run?: ConfigLayer
  /** Gate types of your own, by the name that `type` gives. They win over the built-in ones. */
  gateTypes?: Readonly<Record<string, GateType>>
  /** @default process.env */
  env?: Readonly<Record<string, string | undefined>>
}

export const LOAD_FIELDS: Fields<LoadConfigOptions> = {
  cwd: a.string,
  file: a.string,
  required: a.boolean,
  userFile: shape('a path, or false', (value) => value === false || typeof value === 'string'),
  realm: a.object,
  run: a.object,
  gateTypes: a.object,
  env: a.object,
}
const GATE_TYPE: Fields<GateType> = { options: required(a.strings), create: required(a.function) }

export interface LoadedConfig {
  /** The files that were read, the lowest layer first. */
  readonly files: readonly string[]
  /** Every entry of every layer, with what became of it. */
  readonly entries: readonly LoadedEntry[]
  /** What is active: for `dispatcher.use`. */
  readonly plugin: Plugin
}

const MAX_FILE_BYTES = 1_048_576

/**
 * Loads gates and hooks from `hookspan.config.{yaml,toml,json}`, or a module (`ts`, `js`, `mts`, `mjs`, `cts`, `cjs`): the user's
 * file, the project's, and what the realm and the run say, each adding entries, replacing those of the same id, or disabling them.
 *
 * @throws HookspanError `INVALID_CONFIG` naming file, line and the nearest valid name. A guard is never left out silently.
 * @example
 * const { plugin } = await loadConfig()
 * dispatcher.use(plugin)
 */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const { user, project } = filesOf(options)
  return assemble(options, await read(user), await read(project))
}

/**
 * As {@link loadConfig}, where another is in use. Of a file that is written anew there may be no more than a first line yet, and nothing
 * is no word to take its guards out.
 *
 * @throws HookspanError `INVALID_CONFIG`.
 */
export async function loadConfigAgain(options: LoadConfigOptions, held: LoadedConfig): Promise<LoadedConfig> {
  const { user, project } = filesOf(options)
  const sources = [await read(user), await read(project)] as const
  for (const source of sources) {
    const { file, value } = source ?? {}
    if (file === undefined || !held.entries.some((entry) => entry.file === file)) continue
    const says = Object.keys(Object(value)).some((key) => key !== '$schema' && key !== 'version')
    if (!says) throw configError(file, undefined, `the file is empty now; ${STAYS}`)
  }
  return assemble(options, ...sources)
}

/**
 * As {@link loadConfig}, at once: for programs that cannot wait before their first run, such as CommonJS ones. Reads
 * json, yaml and toml.
 *
 * @throws HookspanError `INVALID_CONFIG`; also for a file that is a module, which has to be waited for.
 * @example
 * dispatcher.use(loadConfigSync({ required: true }).plugin)
 */
export function loadConfigSync(options: LoadConfigOptions = {}): LoadedConfig {
  const { user, project } = filesOf(options)
  return assemble(options, readNow(user), readNow(project))
}

/** @throws HookspanError `INVALID_OPTION` or `INVALID_CONFIG`. */
function filesOf(options: LoadConfigOptions): { user: string | undefined; project: string | undefined } {
  assertFields<LoadConfigOptions>(options, LOAD_FIELDS, 'loadConfig')
  const { gateTypes = {}, env = process.env, required: must = false, cwd = process.cwd() } = options
  for (const [name, type] of Object.entries(gateTypes)) {
    assertFields<GateType>(type, GATE_TYPE, `gate type "${name}"`)
  }
  const project = projectFile(options)
  if (must && project === undefined) {
    throw new HookspanError(
      'INVALID_CONFIG',
      `There is no hookspan.config.* in ${resolve(cwd)}, nor in a folder above it. ` +
        'Start the program in its project, or give `cwd` or `file`.',
    )
  }
  return { user: options.userFile === false ? undefined : userFile(options, env), project }
}

function assemble(
  options: LoadConfigOptions,
  user: ConfigSource | undefined,
  project: ConfigSource | undefined,
): LoadedConfig {
  const { gateTypes = {}, env = process.env } = options
  const sources: [LayerName, ConfigSource][] = []
  if (user !== undefined) sources.push(['user', user])
  if (project !== undefined && project.file !== user?.file) sources.push(['project', project])
  for (const layer of ['realm', 'run'] as const) {
    const value = options[layer]
    if (value === undefined) continue
    const file = join(options.cwd ?? process.cwd(), `(${layer})`)
    sources.push([layer, { file, value, lineOf: () => undefined }])
  }
  let entries: LoadedEntry[] = []
  for (const [layer, source] of sources) {
    const built = buildLayer(source, { layer, gateTypes, env })
    entries = overlay(entries, built.entries, built.disable, source)
  }
  const active = entries.filter((entry) => entry.active)
  const standIns = active.flatMap(({ standIn }) => standIn ?? [])
  return {
    files: sources.filter(([layer]) => layer === 'user' || layer === 'project').map(([, { file }]) => file),
    entries,
    plugin: {
      name: 'config',
      gates: active.flatMap(({ gate }) => gate ?? []),
      hooks: active.flatMap(({ hooks }) => hooks ?? []),
      ...(standIns.length > 0 && {
        standIn: firstOf(standIns),
        standsInFor: () => active.flatMap(({ standsInFor }) => standsInFor ?? []),
      }),
    },
  }
}

/** The first mock of the files that is meant answers. */
function firstOf(standIns: readonly StandIn[]): StandIn {
  return async (call) => {
    for (const standIn of standIns) {
      const answer = await standIn(call)
      if (answer !== undefined) return answer
    }
    return undefined
  }
}

/** Lays a layer over those below: its entries replace, what it disables stays listed. */
function overlay(
  below: readonly LoadedEntry[],
  own: readonly LoadedEntry[],
  disable: readonly string[],
  source: ConfigSource,
): LoadedEntry[] {
  const known = [...below, ...own].map(({ id }) => id)
  for (const [index, id] of disable.entries()) {
    if (known.includes(id)) continue
    const message = `there is no entry "${id}" to disable.${didYouMean(id, known, '"')}`
    throw configError(source.file, source.lineOf(['disable', index]), message)
  }
  const replaced = new Set(own.map(({ id }) => id))
  return [
    ...below.filter(({ id }) => !replaced.has(id)).map((entry) => off(entry, disable)),
    ...own.map((entry) => off(entry, disable)),
  ]
}

function off(entry: LoadedEntry, disable: readonly string[]): LoadedEntry {
  return disable.includes(entry.id) ? { ...entry, active: false } : entry
}

function userFile(
  { userFile: given }: LoadConfigOptions,
  env: NonNullable<LoadConfigOptions['env']>,
): string | undefined {
  if (typeof given === 'string') return existing(given)
  const folder = userConfigFolder(env)
  return folder && find(folder, folder)
}

function projectFile({ file, cwd = process.cwd() }: LoadConfigOptions): string | undefined {
  return file === undefined ? find(cwd) : existing(resolve(cwd, file))
}

function existing(file: string): string {
  // What is there and is no file is told as such where it is looked at.
  if (isThere(file)) return resolve(file)
  throw new HookspanError('INVALID_CONFIG', `There is no config file ${file}.`)
}

function isThere(path: string): boolean {
  try {
    return isConfigThere(path)
  } catch (error) {
    throw new HookspanError('INVALID_CONFIG', errorMessage(error), { cause: error })
  }
}

/** The file of the folder, or of the nearest one above it that has one; up to the user's home. */
function find(from: string, stopDir = homeFolder() ?? '/'): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const name = CONFIG_NAMES.find((one) => isThere(join(folder, one)))
    if (name !== undefined) {
      const found = join(folder, name)
      assertAlone(found)
      return found
    }
    if (folder === resolve(stopDir) || folder === dirname(folder)) return undefined
  }
}

/** Of several in one folder one would be read, and the guards of the others left out. */
function assertAlone(file: string): void {
  const others = CONFIG_NAMES.filter((name) => isThere(join(dirname(file), name)))
  if (others.length < 2) return
  throw configError(
    file,
    undefined,
    `there are several config files in its folder: ${others.join(', ')}. Keep one.`,
  )
}

async function read(file: string | undefined): Promise<ConfigSource | undefined> {
  if (file === undefined || !isModule(file)) return readNow(file)
  const text = readTrusted(file)
  return moduleSource(file, text, await loadModule(file, text))
}

function readNow(file: string | undefined): ConfigSource | undefined {
  if (file === undefined) return undefined
  if (isModule(file)) {
    throw configError(file, undefined, 'a module has to be waited for: use loadConfig(), or a yaml file.')
  }
  return parseConfig(file, readTrusted(file))
}

const isModule = (file: string) => MODULES.includes(extname(file))

function readTrusted(file: string): string {
  assertTrusted(file)
  const bytes = readRegularFile(file)
  // With other letters in their places, a name or a pattern would be one that nothing has.
  if (!isUtf8(bytes)) throw configError(file, undefined, 'it is not written in UTF-8. Save it as UTF-8.')
  return bytes.toString()
}

/** Who can change the file decides what is allowed: nobody else may, and it is where it seems to be. */
function assertTrusted(file: string): void {
  const place = statSync(file, { throwIfNoEntry: false })
  if (place === undefined) throw configError(file, undefined, 'it is a link that leads to nothing.')
  const { size, mode } = place
  if (!place.isFile()) throw configError(file, undefined, 'it is no file.')
  if (size > MAX_FILE_BYTES)
    throw configError(file, undefined, `the file is larger than ${MAX_FILE_BYTES} bytes.`)
  if (process.platform !== 'win32' && (mode & 0o002) !== 0) {
    const mend = 'Run: chmod o-w on it, or chmod a-w where that changes nothing, as on /mnt/c of WSL.'
    throw configError(file, undefined, `everybody may write the file. ${mend}`)
  }
  if (!lstatSync(file).isSymbolicLink()) return
  const way = relative(realpathSync(dirname(file)), realpathSync(file))
  // A name may begin with two dots: those of the folders that Kubernetes mounts do.
  if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) {
    throw configError(
      file,
      undefined,
      `the file is a link that leads out of its folder. Name what it leads to instead: ${realpathSync(file)}`,
    )
  }
}
