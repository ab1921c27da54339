import { startViewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { id, otlp, post, TRACE } from '../viewer/support.ts'
import { launch, openPage } from './support.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())

it('a span is read to the right edge of a window of 320 pixels, as at a zoom of 400 %', async () => {
  const viewer = await startViewer({ db: ':memory:', port: 0 })
  onTestFinished(() => viewer.close())
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'write',
    'gen_ai.tool.call.arguments': JSON.stringify({ text: 'W'.repeat(3_000) }),
  }
  await post(viewer, otlp([{ spanId: id(1), name: 'execute_tool write', attributes }]))
  const { page } = await openPage(browser, `${viewer.url}/run/${TRACE}?span=${id(1)}`, [320, 640])
  await page.locator('.panel .json').first().waitFor()
  const wide = await page
    .locator('.panel, .panel-title, .panel-title button, .panel-body, .json-string')
    .evaluateAll((parts) =>
      parts
        .filter((part) => part.getBoundingClientRect().right > innerWidth + 1)
        .map((part) => part.className),
    )
  expect(wide).toEqual([])
  await page.close()
})
