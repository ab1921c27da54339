/** Where the system chooses the colours, as contrast themes do: no surface and no shadow of ours is drawn. */
import { startViewer } from 'hookspan/viewer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { id, post } from '../viewer/support.ts'
import { launch } from './support.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser.close())

it.each(['light', 'dark'] as const)(
  'bars, shares, dots and what is chosen are seen with the system’s %s colours',
  async (colorScheme) => {
    const viewer = await startViewer({ db: ':memory:', port: 0 })
    onTestFinished(() => viewer.close())
    await post(viewer, sampleRun())
    const page = await browser.newPage({ colorScheme, forcedColors: 'active' })
    onTestFinished(() => page.close())
    await page.goto(`${viewer.url}/run/${SAMPLE_TRACE}?span=${id(4)}`)
    await page.locator('.panel').waitFor()
    // Chosen on the page, and of no matter here.
    await page.evaluate(
      (theme) => {
        document.documentElement.dataset.theme = theme
      },
      colorScheme === 'dark' ? 'light' : 'dark',
    )
    const lightness = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => {
          const brush = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!
          brush.fillStyle = getComputedStyle(element).backgroundColor
          brush.fillRect(0, 0, 1, 1)
          const [red, green, blue] = brush.getImageData(0, 0, 1, 1).data
          return (red! + green! + blue!) / 3
        })
    const ground = await lightness('body')
    expect(ground).toBe(colorScheme === 'dark' ? 0 : 255)
    for (const part of ['.cat-llm .bar', '.time-bar .t-model', '.legend .t-model', '.status .dot'])
      expect.soft(Math.abs((await lightness(part)) - ground), part).toBeGreaterThan(60)
    const outline = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => getComputedStyle(element).outlineStyle)
    expect(await outline('.row.selected')).toBe('solid')
    expect(await outline('.row:not(.selected)')).toBe('none')
    const critical = page.getByRole('button', { name: 'Critical path' })
    const surface = () => critical.evaluate((button) => getComputedStyle(button).backgroundColor)
    const off = await surface()
    await critical.click()
    expect(await surface()).not.toBe(off)
  },
)
