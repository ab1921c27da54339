/** When a process has done all that follows from what it was sent. */
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { weigh } from './systems.ts'

/** Of a core, in a second. */
const NEARLY_NOTHING = 0.03
const QUIET_SECONDS = 4
const WINDOW_SECONDS = 10

/** CPU seconds by when it was quiet, and the most of a core in any ten seconds until then. */
export async function idle(
  child: ChildProcess,
  withinMs = 3_600_000,
): Promise<{ cpuSeconds: number; most: number; isIdle: boolean }> {
  const untilMs = performance.now() + withinMs
  const samples = [{ at: performance.now(), cpu: weigh(child).cpuSeconds }]
  let most = 0
  for (let quiet = 0; quiet < QUIET_SECONDS && performance.now() < untilMs; ) {
    await sleep(1_000)
    const now = { at: performance.now(), cpu: weigh(child).cpuSeconds }
    const last = samples.at(-1)!
    quiet = (now.cpu - last.cpu) / ((now.at - last.at) / 1000) < NEARLY_NOTHING ? quiet + 1 : 0
    samples.push(now)
    const first = samples[samples.length - 1 - WINDOW_SECONDS]
    if (first) most = Math.max(most, (now.cpu - first.cpu) / ((now.at - first.at) / 1000))
    if (quiet === QUIET_SECONDS) return { cpuSeconds: now.cpu, most, isIdle: true }
  }
  return { cpuSeconds: samples.at(-1)!.cpu, most, isIdle: false }
}
