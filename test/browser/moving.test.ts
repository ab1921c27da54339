/** Going through lists and trees by keyboard, while they change. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { id, otlp, post } from '../viewer/support.ts'
import { launch } from './support.ts'

let browser: Browser
let viewer: Viewer
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())
beforeEach(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
})
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
  await viewer.close()
})

async function open(path: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  page.setDefaultTimeout(30_000)
  await page.goto(viewer.url + path)
  await page.waitForSelector('main:not([aria-busy])')
  return page
}

/** Runs named a, b, ... one second apart, each in a conversation. */
async function runs(...conversations: string[]): Promise<void> {
  for (const [index, conversation] of conversations.entries()) await run(index, conversation)
}

async function run(index: number, conversation: string): Promise<void> {
  const name = String.fromCharCode(97 + index)
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': name,
    'gen_ai.conversation.id': conversation,
  }
  await post(
    viewer,
    otlp([
      {
        traceId: `${index + 1}`.repeat(32),
        spanId: id(1),
        name,
        start: index * 1000,
        end: index * 1000 + 500,
        attributes,
      },
    ]),
  )
}

const title = (page: Page) => page.locator('.run-header h1').textContent()

it('the list keeps its selection on one run while newer ones come on top', async () => {
  await runs('one', 'two')
  const page = await open('/')
  await page.waitForSelector('tr.run')
  await page.keyboard.press('j')
  expect(await page.locator('tr.run.selected .title').textContent()).toBe('b')
  await run(2, 'three')
  await page.waitForSelector('tr.run:has-text("c")')
  expect(await page.locator('tr.run.selected .title').textContent()).toBe('b')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.run-header')
  expect(await title(page)).toBe('b')
})

it('a screen reader is told what a search came to, and not each run that comes after it', async () => {
  await runs('one', 'two')
  const page = await open('/')
  await page.waitForSelector('tr.run')
  const count = page.locator('.count')
  await expect.poll(() => count.getAttribute('aria-live')).toBe('off')
  await run(2, 'three')
  await expect.poll(() => count.textContent()).toBe('3 runs')
  expect(await count.getAttribute('aria-live')).toBe('off')
  await page.evaluate(() => {
    const said: string[] = []
    Object.assign(globalThis, { said })
    const place = document.querySelector('.count')!
    new MutationObserver(() => {
      if (place.ariaLive === 'polite') said.push(place.textContent!)
    }).observe(place, { subtree: true, childList: true, characterData: true })
  })
  await page.keyboard.press('/')
  await page.keyboard.type('agent:b')
  await expect.poll(() => count.textContent()).toBe('1 run')
  const said = () => page.evaluate(() => (globalThis as never as { said: string[] }).said)
  await expect.poll(said).toContain('1 run')
  await expect.poll(() => count.getAttribute('aria-live')).toBe('off')
})

it('the list grouped by conversation is walked in the order shown', async () => {
  await runs('one', 'two', 'one', 'two')
  const page = await open('/?group=1')
  await page.waitForSelector('tr.run')
  const shown = await page.locator('tr.run .title').allTextContents()
  expect(shown).toEqual(['d', 'b', 'c', 'a'])
  for (const name of shown) {
    await page.keyboard.press('j')
    expect(await page.locator('tr.run.selected .title').textContent()).toBe(name)
  }
})

it('a run is imported without a mouse', async () => {
  await post(viewer, sampleRun())
  const exported = await (await fetch(`${viewer.url}/api/runs/${SAMPLE_TRACE}/export.json`)).text()
  const traceId = 'f11e'.padEnd(32, '3')
  const page = await browser.newPage()
  await page.goto(viewer.link)
  const chooser = page.waitForEvent('filechooser')
  await page.getByTitle('Import a run').focus()
  await page.keyboard.press('Enter')
  const buffer = Buffer.from(exported.replaceAll(SAMPLE_TRACE, traceId))
  await (await chooser).setFiles({ name: 'run.otlp.json', mimeType: 'application/json', buffer })
  await page.waitForURL(`**/run/${traceId}`)
  await page.waitForSelector('.row:has-text("researcher")')
})

it('leaving a run goes back to the list as it was searched', async () => {
  await runs('one', 'two')
  const page = await open('/?q=agent%3Ab&group=1')
  await page.waitForSelector('tr.run')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.run-header')
  // Closing once too often does not leave the run.
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  expect(new URL(page.url()).pathname).toMatch(/^\/run\//)
  await page.keyboard.press('u')
  await page.waitForSelector('tr.run')
  expect(new URL(page.url()).search).toBe('?q=agent%3Ab&group=1')
})

it('a key leads to the next run of the list as it was searched, in the same view', async () => {
  await runs('one', 'two', 'three', 'four')
  const page = await open('/?q=-agent%3Ac')
  await page.waitForFunction(() => document.querySelectorAll('tr.run').length === 3)
  const listed = await page.locator('tr.run a').evaluateAll((all) => all.map((a) => a.getAttribute('href')))
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.run-header')
  await page.keyboard.press('3')
  const at = () => `${new URL(page.url()).pathname}${new URL(page.url()).search}`
  for (const [key, index] of [
    [']', 1],
    [']', 2],
    [']', 2],
    ['[', 1],
  ] as const) {
    await page.keyboard.press(key)
    await expect.poll(at).toBe(`${listed[index]}?view=conversation`)
    await page.waitForSelector('.run-header')
  }
})

it('what is searched for, and the next error, are found inside of what is folded', async () => {
  await post(viewer, sampleRun())
  const page = await open(`/run/${SAMPLE_TRACE}`)
  await page.waitForSelector('.row')
  await page.keyboard.press('Home')
  await page.keyboard.press('h')
  expect(await page.locator('.row').count()).toBe(1)
  await page.keyboard.press('/')
  await page.keyboard.type('drop_table')
  await page.waitForFunction(() => /[1-9]\d* of /.test(document.querySelector('.found')!.textContent!))
  await page.keyboard.press('Enter')
  await page.waitForSelector('.row.selected:has-text("drop_table")')
  await page.locator('button:has-text("Collapse all")').click()
  await page.locator('.timeline-rows').focus()
  await page.keyboard.press('Home')
  await page.keyboard.press('h')
  await page.keyboard.press('e')
  await page.waitForSelector('.panel')
  expect(await page.locator('.row.selected').textContent()).toContain('fetch_page')
})
