/** A process that can open no more files for a moment, beside what a dead one left. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { startAgent } from './support/agent.ts'
import { scene } from './support/scene.ts'
import { tell } from './support/tell.ts'

const at = scene()

const SHORT_OF_FILES = `
  const { closeSync, openSync } = require('node:fs')
  const [endpoint, spoolDir, free] = process.argv.slice(1)
  import('hookspan/tracing').then(({ startTracing }) => {
    startTracing({ endpoint, spoolDir, queue: { onTrouble: (message) => console.error(message) } })
    const open = []
    try {
      for (;;) open.push(openSync('/dev/null'))
    } catch {}
    for (let count = 0; count < Number(free); count++) closeSync(open.pop())
    setTimeout(() => open.forEach((file) => closeSync(file)), 500)
    setInterval(() => {}, 1_000)
  })`

it.skipIf(process.platform === 'win32').each([0, 1, 2, 3, 4])(
  'that has %d left delivers it once there are more, and tells of nothing',
  async (free) => {
    await at.collector.leave()
    const dead = startAgent({
      tracing: { endpoint: at.collector.url, spoolDir: at.spoolDir },
      truth: at.truth(),
      spansPerSecond: 10_000,
      spans: 24,
    })
    await dead.made
    await dead[Symbol.asyncDispose]()
    await at.collector.comeBack()
    const program = [process.execPath, '-e', SHORT_OF_FILES, at.collector.url, at.spoolDir, `${free}`]
    const child = spawn('sh', ['-c', 'ulimit -n 80; exec "$@"', 'sh', ...program], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    const { doubled } = await at.allThere(30_000)
    child.kill('SIGKILL')
    await once(child, 'close')
    tell({ done: `a leftover beside a process with ${free} files left`, times: 1, lost: 0, doubled })
    expect(said).not.toContain('Cannot deliver what a process left')
    expect(doubled).toBe(0)
  },
)
