/**
 * Takes the pictures of the README anew: `npm run pictures`. A run of the demo comes into a viewer, and Chromium looks on: what it
 * sees becomes docs/images/viewer-live.webp, and two views of the run that it came to the still ones. The encoder (sharp) is for
 * this alone, and goes into .cache. On a machine that does nothing else, as each frame takes its time.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { startViewer } from 'hookspan/viewer'
import type { Page } from 'playwright-core'
import { start } from './support.ts'

const ENCODER = 'sharp@0.35.5'
const KEPT = resolve('.cache/pictures')
const IMAGES = resolve('docs/images')
const SIZE = { width: 1000, height: 625 }
const FRAME_MS = 250
/** So long a frame stands after which there is something to read. */
const READ_MS = 2_500

interface Encoder {
  (frames: Buffer[], options: { join: { animated: true } }): Encoder
  webp(options: { quality: number; effort: number; delay: number[]; loop: number }): Encoder
  toFile(path: string): Promise<{ size: number }>
}

function encoder(): Encoder {
  if (!existsSync(`${KEPT}/node_modules/sharp`)) {
    mkdirSync(KEPT, { recursive: true })
    const install = ['install', '--no-audit', '--no-fund', '--no-save', '--prefix', KEPT, ENCODER]
    const { status } = spawnSync('npm', install, { stdio: 'inherit', shell: process.platform === 'win32' })
    if (status !== 0) throw new Error(`npm could not install ${ENCODER}`)
  }
  return createRequire(`${KEPT}/index.js`)('sharp')
}

const frames: Buffer[] = []
const delays: number[] = []

/** One that looks like the one before it lets that one stand longer. */
async function frame(page: Page, ms = FRAME_MS): Promise<void> {
  const shot = await page.screenshot()
  if (frames.at(-1)?.equals(shot)) {
    delays[delays.length - 1]! += ms
    return
  }
  frames.push(shot)
  delays.push(ms)
}

async function still(page: Page, name: string): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.screenshot({ path: `${IMAGES}/viewer-${name}.png` })
  await page.setViewportSize(SIZE)
}

const encode = encoder()
const viewer = await startViewer({ db: ':memory:', port: 0 })
const browser = await start()
try {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' })
  await page.goto(viewer.url)
  const demo = spawn(process.execPath, ['dist/cli/bin.js', 'demo', '--endpoint', viewer.otlpEndpoint], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(demo, 'exit')
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  await page.locator('tr.run').first().waitFor({ timeout: 60_000 })
  await frame(page, READ_MS / 2)
  await page.locator('tr.run a').first().click()
  await page.locator('.row').first().waitFor()
  while (!isOver) {
    await frame(page)
    await page.waitForTimeout(FRAME_MS)
  }
  await page.waitForFunction(() => document.querySelector('.run-header .status')?.textContent !== 'Running')
  await page.keyboard.press('Home')
  await frame(page, READ_MS)
  for (const open of ['carrier_status', 'issue_refund']) {
    await page.locator('.row', { hasText: open }).first().click()
    await page.locator('.panel').waitFor()
    await frame(page, READ_MS)
  }
  await still(page, 'timeline')
  await page.keyboard.press('3')
  await page.locator('.conversation .step-line').first().waitFor()
  await frame(page, READ_MS)
  await still(page, 'conversation')
  const moving = await encode(frames, { join: { animated: true } })
    .webp({ quality: 70, effort: 6, delay: delays, loop: 0 })
    .toFile(`${IMAGES}/viewer-live.webp`)
  const seconds = delays.reduce((sum, ms) => sum + ms, 0) / 1000
  console.log(
    `viewer-live.webp: ${frames.length} frames, ${seconds} s, ${Math.round(moving.size / 1024)} KiB`,
  )
} finally {
  await browser.close()
  await viewer.close()
}
