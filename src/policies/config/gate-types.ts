import { realpathSync } from 'node:fs'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { a, type Shape } from '../../internal/expect.ts'
import { BUDGET, budget } from '../budget.ts'
import { COMMAND_GATE, commandGate } from '../command-gate.ts'
import { HTTP_GATE, httpGate } from '../http-gate.ts'
import { LOOP_GUARD, loopGuard } from '../loop-guard.ts'
import { REDACT, redact } from '../redact.ts'
import { REQUIRE_HUMAN, requireHuman } from '../require-human.ts'
import { TOOL_CACHE, toolCache } from '../tool-cache.ts'
import { TOOL_POLICY, toolPolicy } from '../tool-policy.ts'
import type { GateType } from './types.ts'

/** Options that every gate takes; a ready gate may refuse those that it has no use for. */
export const SHARED_OPTIONS = ['id', 'type', 'enabled', 'priority', 'shadow']

/** What a file can say of them: no functions. */
export const inFile = (fields: Readonly<Record<string, Shape>>): string[] =>
  Object.keys(fields).filter((name) => fields[name] !== a.function)

type Make = (options: never) => ReturnType<GateType['create']>
const ready = (make: Make, fields: Readonly<Record<string, Shape>>): GateType => ({
  options: inFile(fields),
  create: (entry) => make(entry as never),
})

export const GATE_TYPES: Readonly<Record<string, GateType>> = {
  toolPolicy: ready(toolPolicy, TOOL_POLICY),
  budget: ready(budget, BUDGET),
  loopGuard: ready(loopGuard, LOOP_GUARD),
  redact: ready(redact, REDACT),
  toolCache: ready(toolCache, TOOL_CACHE),
  requireHuman: ready(requireHuman, REQUIRE_HUMAN),
  http: ready(httpGate, HTTP_GATE),
  command: {
    options: inFile(COMMAND_GATE),
    create: (entry, { folder }) => commandGate(programIn(entry, folder) as Parameters<typeof commandGate>[0]),
  },
}

/** The entry of a program, whose paths are those of the config file's folder. */
export function programIn(entry: object, folder: string): object {
  const { command, cwd } = entry as { command?: unknown; cwd?: unknown }
  return {
    ...entry,
    command: commandPath(command as string, folder),
    cwd: cwd === undefined ? folder : inside(cwd as string, folder),
  }
}

/** A path is the config file's neighbour, or absolute; a bare name is looked for on the PATH. */
function commandPath(command: string, folder: string): string {
  if (typeof command !== 'string' || !/[/\\]/.test(command) || isAbsolute(command)) return command
  return inside(command, folder)
}

/** @throws Error for a path that leads out of the folder, by `..` or by a link. */
function inside(path: string, folder: string): string {
  if (isAbsolute(path)) return path
  const target = resolve(folder, path)
  for (const place of [target, realOf(target)]) {
    const way = relative(place === target ? folder : realOf(folder), place)
    if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) {
      throw new Error(
        `the path ${JSON.stringify(path)} leads out of ${folder}; write it as an absolute path to allow it`,
      )
    }
  }
  return target
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
