import { resolve } from 'node:path'
import { askedFor } from '../internal/asked-for.ts'
import { describeValue, HookspanError } from '../internal/errors.ts'
import { a, expected, type Fields, required, secret, unshown } from '../internal/expect.ts'
import { defined } from '../internal/objects.ts'

/** The program that a gate or a hook is. */
export interface CommandProgram {
  /** A program, started without a shell: a path, or a name that is looked for on the PATH. */
  command: string
  args?: readonly string[]
  /** Added to the environment of the command. */
  env?: Readonly<Record<string, string>>
  /** Hands on the whole environment of this process, secrets included, and not only PATH, HOME and locale. @default false */
  inheritEnv?: boolean
  /**
   * The folder in which it is run, and from which paths are told: one that the process goes to later is not asked for programs.
   *
   * @default the process's working folder, where this is made
   */
  cwd?: string
}

export const PROGRAM_FIELDS: Fields<CommandProgram> = {
  command: required(a.value),
  args: secret(a.list),
  env: secret(a.object),
  inheritEnv: a.boolean,
  cwd: a.value,
}

/** What a program needs to run at all. Everything else may be a secret. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'TEMP', 'SYSTEMROOT']

/**
 * What is started, and where.
 *
 * @param owner As it is named in messages: `gate "opa"`.
 * @throws HookspanError `INVALID_OPTION`.
 */
export function programOf({ command, args = [], env = {}, cwd = '' }: CommandProgram, owner: string) {
  assertText(owner, 'command', command)
  if (command === '' || /^\s|\s$/.test(command)) {
    throw expected(`\`command\` of ${owner} to be a program`, command)
  }
  for (const arg of args) assertText(owner, 'args', arg)
  for (const [name, value] of Object.entries(env)) {
    assertText(owner, `env.${name}`, value)
    if (name === '' || name.includes('='))
      throw new HookspanError('INVALID_OPTION', `\`env\` of ${owner} has the name ${describeValue(name)}.`)
  }
  assertText(owner, 'cwd', cwd)
  return { command, args, cwd: resolve(cwd) }
}

/**
 * Its environment. `TRACEPARENT` is in it, so that what it traces joins the run's trace, and for whom it is run: below
 * `hookspan run` it would be held to itself.
 */
export function environmentOf(
  { id, env = {}, inheritEnv = false }: CommandProgram & { readonly id: string },
  traceparent: string | undefined,
): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const name of inheritEnv ? Object.keys(process.env) : PASSED_ON) {
    const value = process.env[name]
    if (value !== undefined) passed[name] = value
  }
  return { ...passed, ...defined({ TRACEPARENT: traceparent }), ...askedFor(id), ...env }
}

function assertText(owner: string, name: string, value: unknown): asserts value is string {
  if (typeof value === 'string' && !value.includes('\0')) return
  throw expected(`\`${name}\` of ${owner} to be a text`, unshown(value))
}
