import { realpathSync } from 'node:fs'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { budget } from '../budget.ts'
import { commandGate } from '../command-gate.ts'
import { httpGate } from '../http-gate.ts'
import { loopGuard } from '../loop-guard.ts'
import { redact } from '../redact.ts'
import { requireHuman } from '../require-human.ts'
import { toolCache } from '../tool-cache.ts'
import { toolPolicy } from '../tool-policy.ts'
import type { GateType } from './types.ts'

/** Options that every gate takes; a ready gate may refuse those that it has no use for. */
export const SHARED_OPTIONS = ['id', 'type', 'enabled', 'priority', 'shadow']

const REMOTE = ['point', 'match', 'timeoutMs', 'onFailure', 'maxBodyBytes']

type Make = (options: never) => ReturnType<GateType['create']>
const ready = (make: Make, options: readonly string[]): GateType => ({
  options,
  create: (entry) => make(entry as never),
})

export const GATE_TYPES: Readonly<Record<string, GateType>> = {
  toolPolicy: ready(toolPolicy, ['allow', 'deny', 'denyArguments']),
  budget: ready(budget, [
    'maxCostUsd',
    'maxTokens',
    'maxToolCalls',
    'maxSteps',
    'maxDurationMs',
    'unknownPrice',
    'stop',
  ]),
  loopGuard: ready(loopGuard, ['maxRepeats', 'window', 'stopAfter', 'ignore']),
  redact: ready(redact, ['in', 'kinds', 'patterns', 'replacement']),
  toolCache: ready(toolCache, ['match', 'ttlMs', 'maxEntries', 'scope']),
  requireHuman: ready(requireHuman, ['point', 'match', 'timeoutMs', 'instructions', 'approvers', 'allow']),
  http: ready(httpGate, [
    ...REMOTE,
    'url',
    'secret',
    'headers',
    'allowPrivateAddresses',
    'requireSignedReply',
  ]),
  command: {
    options: [...REMOTE, 'command', 'args', 'env', 'inheritEnv', 'cwd'],
    create: ({ command, cwd, ...rest }, { folder }) =>
      commandGate({
        ...(rest as object),
        command: commandPath(command as string, folder),
        cwd: cwd === undefined ? folder : inside(cwd as string, folder),
      } as Parameters<typeof commandGate>[0]),
  },
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
