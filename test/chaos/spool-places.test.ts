import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { AgentOrder } from './processes/traced-agent.ts'
import { startAgent } from './support/agent.ts'
import { scene } from './support/scene.ts'
import { tell } from './support/tell.ts'

const at = scene()
const may = (...command: [string, ...string[]]) => spawnSync(command[0], command.slice(1)).status === 0
const mayUnsharePids = may('unshare', '--pid', '--fork', 'true')
const mayMount = may('unshare', '--mount', 'sh', '-c', 'mount -t tmpfs tmpfs /tmp')

const troublesOf = (stderr: string, what: RegExp) => stderr.split('\n').filter((line) => what.test(line))

/** As in a container: the agent is process 1. */
const CONTAINER = mayUnsharePids ? ['unshare', '--pid', '--fork', '--kill-child'] : []
const CONTAINERS = mayUnsharePids ? 'containers, each agent process 1' : 'no pid namespaces here, processes'

const order = (more: Partial<AgentOrder> = {}): AgentOrder => ({
  tracing: { endpoint: at.collector.url, spoolDir: at.spoolDir },
  truth: at.truth(),
  spansPerSecond: 10_000,
  spans: 24,
  then: 'stay',
  ...more,
})

describe(CONTAINERS, () => {
  it('leaves a living owner’s spans alone, and delivers a dead one’s', async () => {
    await at.collector.leave()
    const dead = startAgent(order({ leaveOpen: true }), CONTAINER)
    await dead.made
    await using living = startAgent(order(), CONTAINER)
    await living.made
    await dead[Symbol.asyncDispose]()
    await at.collector.comeBack()
    await using next = startAgent(order(), CONTAINER)
    await next.made
    const { doubled } = await at.allThere()
    tell({
      done: `${CONTAINERS}: one dies, one lives, one starts, ${at.told().ended.size} spans`,
      times: 1,
      lost: 0,
      doubled,
    })
    expect(doubled).toBe(0)
  })

  it('delivers once what several write into one folder, though each is killed in turn', async () => {
    for (let round = 0; round < 4; round++) {
      await at.collector.leave()
      const agents = [1, 2, 3].map(() => startAgent(order(), CONTAINER))
      await Promise.all(agents.map(({ made }) => made))
      if (round % 2 === 0) await at.collector.comeBack()
      await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()))
    }
    await at.collector.comeBack()
    await using last = startAgent(order(), CONTAINER)
    await last.made
    const { doubled } = await at.allThere()
    tell({
      done: `${CONTAINERS}: twelve killed on one folder, ${at.told().ended.size} spans`,
      times: 12,
      lost: 0,
      doubled,
    })
    // Six of them were killed while one request of each may have been on its way.
    expect(doubled).toBeLessThanOrEqual(6 * 24)
  })
})

describe('a folder that is removed while it is written to', () => {
  it('is told of, and made anew: a SIGKILL after that loses no span that memory has, nor one that is open', async () => {
    await at.collector.leave()
    const agent = startAgent(order({ leaveOpen: true }))
    await agent.made
    rmSync(at.spoolDir, { recursive: true })
    await expect
      .poll(() => troublesOf(agent.stderr(), /was removed: 0 spans/), { timeout: 20_000 })
      .toHaveLength(1)
    expect(await agent.stats()).toMatchObject({ queued: 24, dropped: 0 })
    await agent[Symbol.asyncDispose]()
    await at.collector.comeBack()
    await using next = startAgent(order({ spans: 0 }))
    await next.made
    const { doubled } = await at.allThere()
    tell({ done: 'the folder is removed, then SIGKILL', times: 1, lost: 0, doubled })
    expect(doubled).toBe(0)
  })

  it('counts as dropped what was in it alone', async () => {
    await at.collector.leave()
    const tracing = { endpoint: at.collector.url, spoolDir: at.spoolDir, queue: { maxQueueSpans: 12 } }
    await using agent = startAgent(order({ tracing, spans: 600 }))
    await agent.made
    rmSync(at.spoolDir, { recursive: true })
    await expect.poll(async () => (await agent.stats()).dropped, { timeout: 20_000 }).toBeGreaterThan(500)
    const { queued, dropped } = await agent.stats()
    expect(queued + dropped).toBe(600)
    await at.collector.comeBack()
    await expect
      .poll(() => agent.stats(), { timeout: 60_000 })
      .toMatchObject({ queued: 0, exported: 600 - dropped })
  })
})

/** Starts the agent where `spoolDir` is a disk of its own, which only it sees. */
function onDisk(prepare: string): string[] {
  mkdirSync(at.spoolDir)
  return ['unshare', '--mount', 'sh', '-c', `${prepare} && exec "$@"`, 'sh']
}

describe.runIf(mayMount)('a disk', () => {
  const tmpfs = () => `mount -t tmpfs -o size=1m tmpfs ${at.spoolDir}`

  it('of 1 MiB is enough for any number of spans that are delivered', async () => {
    await using agent = startAgent(order({ spansPerSecond: 1_000, spans: 6_000 }), onDisk(tmpfs()))
    await agent.made
    const { doubled } = await at.allThere()
    tell({
      done: `a disk of 1 MiB, the collector up, ${at.told().ended.size} spans`,
      times: 1,
      lost: 0,
      doubled,
    })
    expect(doubled).toBe(0)
  })

  it('that is full is told of once, and spans go on through memory', async () => {
    await at.collector.leave()
    await using agent = startAgent(order({ spans: 6_000, leaveOpen: true }), onDisk(tmpfs()))
    await agent.made
    expect(troublesOf(agent.stderr(), /cannot be written to `spoolDir`: ENOSPC/)).toHaveLength(1)
    expect(await agent.stats()).toMatchObject({ queued: 6_000, dropped: 0 })
    await at.collector.comeBack()
    await expect.poll(async () => (await agent.stats()).exported, { timeout: 60_000 }).toBe(6_000)
    const { doubled } = await at.collector.received()
    tell({ done: 'a full disk of 1 MiB, the collector away, 6000 spans', times: 1, lost: 0, doubled })
    expect(doubled).toBe(0)
  })

  it('that was full before is told of once, and spans go on through memory', async () => {
    const full = `${tmpfs()} && { dd if=/dev/zero of=${at.spoolDir}/zeros bs=64k 2>/dev/null; true; }`
    await using agent = startAgent(order({ spans: 300 }), onDisk(full))
    await agent.made
    const { doubled } = await at.allThere()
    expect(troublesOf(agent.stderr(), /cannot be written to `spoolDir`/)).toHaveLength(1)
    tell({ done: 'a disk that was full before', times: 1, lost: 0, doubled })
    expect(doubled).toBe(0)
  })

  it('that is read-only is told of once, and spans go on through memory', async () => {
    const readOnly = `${tmpfs()} && mount -o remount,ro ${at.spoolDir}`
    await using agent = startAgent(order({ spans: 300, then: 'shutdown' }), onDisk(readOnly))
    expect(await agent.ended).toBe(0)
    const { doubled } = await at.allThere()
    expect(troublesOf(agent.stderr(), /cannot be written to `spoolDir`.*read-only/)).toHaveLength(1)
    expect(troublesOf(agent.stderr(), /lost/)).toEqual([])
    tell({ done: 'a read-only disk', times: 1, lost: 0, doubled })
    expect(doubled).toBe(0)
  })

  it('that is read-only, and a collector that is away: what is lost is told', async () => {
    await at.collector.leave()
    const readOnly = `${tmpfs()} && mount -o remount,ro ${at.spoolDir}`
    await using agent = startAgent(order({ spans: 300, then: 'shutdown' }), onDisk(readOnly))
    expect(await agent.ended).toBe(0)
    expect(agent.stderr()).toMatch(
      /300 spans were not delivered before the end and are lost\. `spoolDir` did not take them/,
    )
  })
})
