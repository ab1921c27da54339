import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { COMPILED } from './support/compiled.ts'
import { scene } from './support/scene.ts'
import { tell } from './support/tell.ts'

const AGENT = fileURLToPath(new URL('../viewer/processes/park-a-run.ts', import.meta.url))
const at = scene()

function start(mode: 'park' | 'resume'): ChildProcess {
  return spawn(process.execPath, ['--no-warnings', AGENT, mode, at.collector.url, at.spoolDir], {
    env: { ...process.env, ...COMPILED },
  })
}

/** What the next process needs to go on with the run, from one that is killed when it has parked it. */
async function parkAndKill(): Promise<string> {
  const child = start('park')
  let saved = ''
  for await (const chunk of child.stdout ?? []) {
    saved += chunk
    if (saved.endsWith('\n')) break
  }
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return saved
}

it.each([
  ['up', false],
  ['away', true],
] as const)(
  'leaves a parked run of a killed process to the one that ends it, the collector %s',
  async (how, isAway) => {
    if (isAway) await at.collector.leave()
    const saved = await parkAndKill()
    if (isAway) await at.collector.comeBack()
    const next = start('resume')
    next.stdin?.end(saved)
    expect(await once(next, 'exit')).toEqual([0, null])
    const { names, states, doubled } = await at.collector.received()
    tell({
      done: `SIGKILL of a process with a parked run, the collector ${how}`,
      times: 1,
      lost: 3 - names.length,
      doubled,
    })
    expect([...names].sort()).toEqual(['invoke_agent a', 'step', 'step'])
    expect([...states.values()]).toEqual(['ended', 'ended', 'ended'])
    expect(doubled).toBe(0)
  },
)
