/** What the page says while its viewer is away, and that it comes back. */
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { databaseFile } from '../viewer/start.ts'
import { id, otlp, post, runSpan, TRACE } from '../viewer/support.ts'
import { launch, openPage } from './support.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())

it('what could not be read while the viewer was away is read once it is there again', async () => {
  const options = { db: databaseFile(), port: 0 }
  const first = await startViewer(options)
  let viewer: Viewer = first
  onTestFinished(() => viewer.close())
  const call = {
    spanId: id(2),
    parentSpanId: id(1),
    name: 'execute_tool pay',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'pay',
      'gen_ai.tool.call.arguments': '{"order":4711}',
    },
  }
  await post(first, otlp([runSpan('done', { end: 90 }), call]))
  const pages = await Promise.all([
    openPage(browser, `${first.url}/run/${TRACE}`),
    openPage(browser, `${first.url}/run/${TRACE}`),
    openPage(browser, first.url),
  ])
  const [views, panel, list] = pages.map(({ page }) => page) as [Page, Page, Page]
  onTestFinished(async () => {
    for (const { page } of pages) await page.close()
  })
  await first.close()
  for (const { page } of pages) await page.getByText('Viewer not reachable').first().waitFor()
  await views.keyboard.press('3')
  await panel.locator('.row', { hasText: 'pay' }).click()
  await list.locator('tr.run a').first().click()
  const said = 'The viewer does not answer.'
  for (const { page } of pages) await page.locator('main').getByText(said).first().waitFor()
  expect(await list.locator('main').innerText()).not.toContain('This run is not here')
  viewer = await startViewer({ ...options, port: Number(new URL(first.url).port) })
  await views.locator('.tool-card', { hasText: 'pay' }).waitFor()
  await panel.locator('.panel .json', { hasText: '4711' }).first().waitFor()
  await list.locator('.row', { hasText: 'pay' }).waitFor()
  for (const { page } of pages) await expect.poll(() => page.locator('main').getByText(said).count()).toBe(0)
})

it('a link to a viewer that was there before is none to the one that is there now, which can be read', async () => {
  const options = { db: databaseFile(), port: 0 }
  const first = await startViewer(options)
  let viewer: Viewer = first
  onTestFinished(() => viewer.close())
  await post(first, otlp([runSpan('done')]))
  const { page } = await openPage(browser, first.link)
  onTestFinished(() => page.close())
  await page.getByTitle('Import a run').waitFor()
  await first.close()
  await page.getByText('Viewer not reachable').first().waitFor()
  viewer = await startViewer({ ...options, port: Number(new URL(first.url).port) })
  await page.getByText('Live', { exact: true }).waitFor()
  await expect.poll(() => page.locator('nav.top').innerText()).not.toContain('unreadable')
  await page.locator('tr.run a').first().click()
  await page.locator('.row').first().waitFor()
  await expect.poll(() => page.getByTitle('Import a run').count()).toBe(0)
  expect(await page.locator('nav.top').innerText()).not.toContain('unreadable')
  await page.goto(viewer.link)
  await page.getByTitle('Import a run').waitFor()
})

it('that spans cannot be stored is said to pages that are opened later, too, until they are stored again', async () => {
  // The viewer's own connection: each has its own limit.
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  const viewer = await startViewer({ db: databaseFile(), port: 0, onNotice: () => {} })
  onTestFinished(() => viewer.close())
  await post(viewer, otlp([runSpan('done')]))
  const connection = prepare.mock.contexts.at(-1) as DatabaseSync
  prepare.mockRestore()
  const { page: before } = await openPage(browser, viewer.url)
  connection.exec('PRAGMA max_page_count = 80')
  const big = { spanId: id(77), attributes: { text: randomBytes(2_000_000).toString('base64') } }
  expect((await post(viewer, otlp([big]))).status).toBe(503)
  const { page: later } = await openPage(browser, `${viewer.url}/run/${TRACE}`)
  onTestFinished(async () => {
    for (const page of [before, later]) await page.close()
  })
  const said = 'Spans cannot be stored: database or disk is full. Senders are told to try again.'
  for (const page of [before, later])
    await expect.poll(() => page.getByRole('alert').innerText(), { timeout: 10_000 }).toBe(said)
  connection.exec('PRAGMA max_page_count = 1000000')
  expect((await post(viewer, otlp([big]))).status).toBe(200)
  for (const page of [before, later])
    await expect.poll(() => page.getByRole('alert').count(), { timeout: 10_000 }).toBe(0)
})

it('what a request that was lost was to bring is asked for again, also where the connection has stayed', async () => {
  const viewer = await startViewer({ db: ':memory:', port: 0 })
  onTestFinished(() => viewer.close())
  await post(viewer, otlp([runSpan('done')]))
  const { page } = await openPage(browser, `${viewer.url}/run/${TRACE}`)
  onTestFinished(() => page.close())
  await page.route('**/events', (route) => route.abort())
  await page.keyboard.press('5')
  await page.getByText('The viewer does not answer.').waitFor()
  await page.unroute('**/events')
  await page.locator('.event-line').first().waitFor()
  expect(await page.getByText('The viewer does not answer.').count()).toBe(0)
})
