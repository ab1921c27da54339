/** What comes out of a printer: all of a view, dark on white, whichever theme was chosen. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { id, otlp, post, runSpan, type TestSpan, TRACE } from '../viewer/support.ts'
import { launch, openPage } from './support.ts'

const CALLS = 120
let browser: Browser
let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  const calls = Array.from({ length: CALLS }, (_, at): TestSpan => {
    const content = `message ${at} ${'and more of it '.repeat(20)}`
    const messages = [{ role: 'user', parts: [{ type: 'text', content }] }]
    return {
      spanId: id(at + 2),
      parentSpanId: id(1),
      name: `chat ${at}`,
      start: at * 10,
      end: at * 10 + 5,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': `model ${at}`,
        'gen_ai.input.messages': JSON.stringify(messages),
      },
    }
  })
  await post(viewer, otlp([runSpan('done', { end: CALLS * 10 }), ...calls]))
  for (let run = 0; run < 60; run++)
    await post(viewer, otlp([runSpan('done', { traceId: id(run + 1).padStart(32, 'b') })]))
})
afterAll(async () => {
  await browser.close()
  await viewer.close()
})

it.each([
  ['the list', '/', 'tr.run', 61],
  ['a timeline', `/run/${TRACE}`, '.timeline-rows .row', CALLS + 1],
  ['a tree', `/run/${TRACE}?view=tree`, '.timeline-rows .row', CALLS + 1],
  ['a conversation', `/run/${TRACE}?view=conversation`, '.item-message', CALLS],
  ['the events', `/run/${TRACE}?view=events`, '.event-line', CALLS],
])('%s is printed to its end', async (_what, path, each, count) => {
  const { page } = await openPage(browser, viewer.url + path)
  await page.locator(each).first().waitFor()
  await page.evaluate(() => document.documentElement.setAttribute('data-theme', 'dark'))
  const pages = (await page.pdf({ format: 'A4' })).toString('latin1').match(/\/Type \/Page\b/g)!.length
  expect(pages).toBeGreaterThan(2)
  await page.emulateMedia({ media: 'print' })
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
  await expect.poll(() => page.locator(each).count()).toBeGreaterThanOrEqual(count)
  const last = page.locator(each).last()
  const [end, height, ink] = await last.evaluate((element) => [
    element.getBoundingClientRect().bottom + scrollY,
    document.documentElement.scrollHeight,
    getComputedStyle(document.body).color,
  ])
  // None of it is in a window of its own.
  expect(end).toBeLessThan((height as number) + 1)
  expect(height).toBeGreaterThan(1_500)
  expect(
    Math.max(
      ...(ink as string)
        .match(/[\d.]+/g)!
        .slice(0, 3)
        .map(Number),
    ),
  ).toBeLessThan(80)
  await page.evaluate(() => dispatchEvent(new Event('afterprint')))
  await page.close()
})
