import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { reusing } from './reused.ts'

export const SHOTS = fileURLToPath(new URL('../../.cache/screenshots/', import.meta.url))

const CANDIDATES = [
  process.env.CHROMIUM_BIN,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

let launched: Promise<Browser> | undefined

/** One for all files, which close it by closing their pages; the process takes it along. */
export async function launch(): Promise<Browser> {
  launched ??= start()
  const browser = await launched
  browser.close = async () => {
    for (const context of browser.contexts()) await context.close()
  }
  return browser
}

/** One that its caller closes. */
export async function start(): Promise<Browser> {
  const executablePath = CANDIDATES.find((path) => path && existsSync(path))
  if (!executablePath)
    throw new Error(
      'These tests need Chromium: `apt-get install chromium`, or set CHROMIUM_BIN to a browser.',
    )
  mkdirSync(SHOTS, { recursive: true })
  const quiet = [
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ]
  const args = ['--no-sandbox', '--disable-gpu', ...quiet]
  return reusing(await chromium.launch({ executablePath, args }))
}

/** What went wrong in the page: errors, refused resources, violations of the policy. Empty when all is well. */
export function watch(page: Page): string[] {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      problems.push(`console: ${message.text()}`)
  })
  page.on('requestfailed', (request) => {
    if (!request.url().includes('/api/live') && request.failure()?.errorText !== 'net::ERR_ABORTED')
      problems.push(`request: ${request.url()}`)
  })
  return problems
}

/** A page that has read what it shows, and what goes wrong in it. */
export async function openPage(
  browser: Browser,
  url: string,
  size: [number, number] = [1280, 800],
): Promise<{ page: Page; problems: string[] }> {
  const page = await browser.newPage({ viewport: { width: size[0], height: size[1] } })
  const problems = watch(page)
  await page.goto(url)
  await page.waitForSelector('main:not([aria-busy])')
  return { page, problems }
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds wrong, with its first places. Only of that it writes where it was: a third of the time of a run. */
export async function axe(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  type Axe = {
    run(options: object): Promise<{
      violations: { id: string; nodes: { html: string; failureSummary: string }[] }[]
    }>
  }
  const { violations } = await page.evaluate(() =>
    (globalThis as never as { axe: Axe }).axe.run({ resultTypes: ['violations'] }),
  )
  return violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .slice(0, 3)
        .map((node) => `${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 200)}`)
        .join(' | ')}`,
  )
}

/** What a careful look at a screenshot would find: wider than the window, text cut with no way to read it, overlaps, nothing there. */
export function findFlaws(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const flaws: string[] = []
    const root = document.documentElement
    if (root.scrollWidth > root.clientWidth + 1)
      flaws.push(`the page is ${root.scrollWidth - root.clientWidth} px wider than the window`)
    const name = (element: Element) =>
      `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''} "${(element.textContent ?? '').trim().slice(0, 40)}"`
    const visible = (element: Element) => {
      const box = element.getBoundingClientRect()
      return (
        box.width > 0 &&
        box.height > 0 &&
        element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
      )
    }
    // What is short by nature is never cut; long texts may end in an ellipsis.
    for (const element of document.querySelectorAll(
      'button, .badge:not(.badge-error), .status, .fact dd, .fact dt, th, .c-num, .c-n, h2, h3, .chip, .tabs button, .legend li',
    )) {
      if (
        !visible(element) ||
        element.closest('.sr, .help, .node, .run-title, .event-line, .side, .panel-title, .row .c-name')
      )
        continue
      if (
        element.matches('button') &&
        element.scrollWidth > element.clientWidth + 2 &&
        !element.closest('.conversation')
      )
        flaws.push(`cut: ${name(element)}`)
      else if (
        !element.matches('button') &&
        element.scrollWidth > element.clientWidth + 2 &&
        getComputedStyle(element).overflow !== 'visible'
      )
        flaws.push(`cut: ${name(element)}`)
    }
    const brush = document.createElement('canvas').getContext('2d')!
    for (const field of document.querySelectorAll<HTMLInputElement>('input[placeholder]')) {
      if (!visible(field) || field.value) continue
      const { font, paddingLeft, paddingRight } = getComputedStyle(field)
      brush.font = font
      // The button that clears a search keeps its place also while there is nothing to clear.
      const kept = field.type === 'search' ? 32 : 0
      const room = field.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight) - kept
      if (brush.measureText(field.placeholder).width > room + 1) flaws.push(`cut: "${field.placeholder}"`)
    }
    for (const tabs of document.querySelectorAll('.tabs')) {
      if (visible(tabs) && tabs.scrollWidth > tabs.clientWidth + 1) flaws.push(`cut: ${name(tabs)}`)
    }
    // Neighbours in one row do not cover each other.
    for (const row of document.querySelectorAll(
      '.toolbar, .timeline-head .c-bar, .run-title, .facts, .tabs, .timeline-tools, .panel-title, .actions, .row .c-name, .panel-title .name, .top, .heads, .legend, tr.run',
    )) {
      if (!visible(row)) continue
      const boxes = [...row.children]
        .filter(visible)
        .map((child) => ({ child, box: child.getBoundingClientRect() }))
      for (const [index, one] of boxes.entries()) {
        for (const other of boxes.slice(index + 1)) {
          const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left)
          const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top)
          if (across > 2 && down > 2) flaws.push(`overlap: ${name(one.child)} and ${name(other.child)}`)
        }
      }
    }
    // On a phone a badge in a row may be short of room: then it says so by an ellipsis of its own.
    for (const badge of root.clientWidth > 720 ? [] : document.querySelectorAll('.row .c-name .badge')) {
      const room = badge.closest('.c-name')!.getBoundingClientRect().right
      if (visible(badge) && badge.getBoundingClientRect().right > room + 1) flaws.push(`cut: ${name(badge)}`)
    }
    // What belongs to one row stays in it.
    for (const row of document.querySelectorAll('.row, .event-line')) {
      if (!visible(row)) continue
      const { top, bottom } = row.getBoundingClientRect()
      for (const child of [...row.children].filter(visible)) {
        const box = child.getBoundingClientRect()
        if (box.top < top - 2 || box.bottom > bottom + 2) flaws.push(`out of its row: ${name(child)}`)
      }
    }
    for (const pane of document.querySelectorAll(
      'main, .view, .panel-body, .timeline-rows, .conversation, .graph, .events, .lint, .compare-rows',
    )) {
      if (visible(pane) && (pane.textContent ?? '').trim().length < 10) flaws.push(`empty: ${name(pane)}`)
    }
    return flaws
  })
}
