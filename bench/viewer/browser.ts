/** A run of 10,000 spans in a real Chromium: time to first paint of its rows, and frames while scrolling. */
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { runRequest, traceIdOf } from './stream.ts'
import { startHookspan } from './systems.ts'

const ROUNDS = 5

interface Scroll {
  frames: number
  fps: number
  worstMs: number
  overPercent: number
}

export interface BrowserFigures {
  paintMs: { median: number; each: number[] }
  /** What the main thread worked until then; on a busy machine the better figure. */
  paintCpuMs: number
  fps: number
  worstMs: number
  overPercent: number
  frameCpuMs: number
}

export const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export function chromiumPath(): string | undefined {
  return [process.env.CHROMIUM_BIN, '/usr/bin/chromium'].find((path) => path && existsSync(path))
}

export async function measureBrowser(): Promise<BrowserFigures | undefined> {
  const executablePath = chromiumPath()
  if (!executablePath) {
    console.log('browser: no Chromium found, left out')
    return undefined
  }
  const system = await startHookspan(true)
  const browser = await chromium.launch({
    executablePath,
    args: CHROMIUM_ARGS,
  })
  try {
    await fetch(system.tracesUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf' },
      body: runRequest(1, Date.now() - 60_000, 10_000) as never,
    })
    const url = `${system.tracesUrl.replace('/v1/traces', '')}/run/${traceIdOf(1)}`
    const paints: number[] = []
    const paintCpus: number[] = []
    const scrolls: Scroll[] = []
    const frameCpus: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, bypassCSP: true })
      await page.addInitScript(NOTE_PAINT)
      const devtools = await page.context().newCDPSession(page)
      await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
      const cpuMs = async () => {
        const { metrics } = await devtools.send('Performance.getMetrics')
        return metrics.find(({ name }) => name === 'TaskDuration')!.value * 1000
      }
      await page.goto(url)
      await page.waitForFunction('globalThis.paintedAt !== undefined')
      paints.push((await page.evaluate('globalThis.paintedAt')) as number)
      paintCpus.push(await cpuMs())
      await page.waitForTimeout(500)
      const before = await cpuMs()
      const scroll = (await page.evaluate(SCROLL)) as Scroll
      scrolls.push(scroll)
      frameCpus.push(((await cpuMs()) - before) / scroll.frames)
      await page.close()
    }
    const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
    return {
      paintMs: { median: median(paints), each: paints },
      paintCpuMs: median(paintCpus),
      fps: median(scrolls.map(({ fps }) => fps)),
      worstMs: median(scrolls.map(({ worstMs }) => worstMs)),
      overPercent: median(scrolls.map(({ overPercent }) => overPercent)),
      frameCpuMs: median(frameCpus),
    }
  } finally {
    await browser.close()
    await system.stop()
  }
}

/** Rows are seen by an observer from within, and the frame after them is the paint; the clock starts with the navigation. */
const NOTE_PAINT = `
  new MutationObserver((_, observer) => {
    if (!document.querySelector('.row')) return
    observer.disconnect()
    requestAnimationFrame(() => {
      const channel = new MessageChannel()
      channel.port1.onmessage = () => { globalThis.paintedAt = performance.now() }
      channel.port2.postMessage(0)
    })
  }).observe(document, { childList: true, subtree: true })`

/** Three seconds through the whole run. */
const SCROLL = `new Promise((resolve) => {
  const list = document.querySelector('.timeline-rows')
  const distance = list.scrollHeight - list.clientHeight
  const times = []
  const step = (now) => {
    times.push(now)
    const since = now - times[0]
    list.scrollTop = distance * Math.min(1, since / 3000)
    if (since < 3000) return requestAnimationFrame(step)
    const gaps = times.slice(1).map((time, at) => time - times[at])
    resolve({ frames: gaps.length, fps: (gaps.length / since) * 1000, worstMs: Math.max(...gaps), overPercent: (gaps.filter((gap) => gap > 20).length / gaps.length) * 100 })
  }
  requestAnimationFrame(step)
})`
