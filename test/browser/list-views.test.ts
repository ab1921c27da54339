/** The list as one wants it: its columns, views saved by name, and where the words of a search are. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SAMPLE_TRACE, sampleRun } from '../viewer/sample-run.ts'
import { post } from '../viewer/support.ts'
import { findFlaws, launch, SHOTS, watch } from './support.ts'

let browser: Browser
let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
  browser = await launch()
  await post(viewer, sampleRun())
  await post(viewer, sampleRun({ traceId: 'b'.repeat(32), atMs: -90_000 }))
})
afterAll(async () => {
  await browser?.close()
  await viewer?.close()
})

async function open(path: string): Promise<{ page: Page; problems: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  const problems = watch(page)
  await page.goto(viewer.url + path)
  await page.locator('.runs tr.run').first().waitFor()
  return { page, problems }
}
const heads = (page: Page) => page.locator('.runs thead th button').allInnerTexts()

describe('the list', () => {
  it('has the columns that were chosen, as wide as they were made, also later', async () => {
    const { page, problems } = await open('/')
    expect(await heads(page)).not.toContain('Model')
    await page.getByText('Columns', { exact: true }).click()
    await page.getByLabel('Model', { exact: true }).check()
    await page.getByLabel('Cost', { exact: true }).uncheck()
    await expect.poll(() => heads(page)).toContain('Model')
    expect(await heads(page)).not.toContain('Cost')
    await page.screenshot({ path: `${SHOTS}list-columns.png` })
    await page.keyboard.press('Escape')
    expect(await findFlaws(page)).toEqual([])
    const width = async () => (await page.locator('th', { hasText: 'Duration' }).boundingBox())!.width
    const before = await width()
    await page.getByRole('separator', { name: 'Width of Duration' }).focus()
    for (let press = 0; press < 3; press++) await page.keyboard.press('ArrowRight')
    await expect.poll(width).toBeGreaterThan(before + 40)
    const edge = (await page.getByRole('separator', { name: 'Width of Duration' }).boundingBox())!
    await page.mouse.move(edge.x + 4, edge.y + 12)
    await page.mouse.down()
    await page.mouse.move(edge.x + 54, edge.y + 12, { steps: 4 })
    await page.mouse.up()
    await expect.poll(width).toBeGreaterThan(before + 80)
    const wide = await width()
    await page.reload()
    await expect.poll(() => heads(page)).toContain('Model')
    await expect.poll(width).toBe(wide)
    await page.getByText('Columns', { exact: true }).click()
    await page.getByRole('button', { name: 'As they were' }).click()
    await expect.poll(() => heads(page)).not.toContain('Model')
    await expect.poll(width).toBe(before)
    expect(problems).toEqual([])
    await page.close()
  })

  it('is saved by name, with its search, its order and its columns', async () => {
    const { page } = await open('/?q=agent%3Asupport&sort=-cost&columns=status,model,cost')
    await page.getByText('Views', { exact: true }).click()
    await page.getByRole('textbox', { name: 'Name of this view' }).fill('Costly')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Costly' }).waitFor()
    await page.screenshot({ path: `${SHOTS}list-views.png` })
    await page.goto(viewer.url)
    await page.getByText('Views', { exact: true }).click()
    await page.getByRole('link', { name: 'Costly' }).click()
    await expect
      .poll(() => heads(page))
      .toEqual(['Run', 'Status', 'Model', expect.stringMatching(/^Cost\s*↓$/)])
    expect(await page.getByRole('combobox', { name: 'Search runs' }).inputValue()).toBe('agent:support')
    await page.locator('.menu summary', { hasText: 'Costly' }).click()
    await page.getByRole('button', { name: 'Forget Costly' }).click()
    await page.getByRole('link', { name: 'Costly' }).waitFor({ state: 'detached' })
    await page.close()
  })

  it('shows where the words are, and a run that is opened is searched for them', async () => {
    const { page, problems } = await open('/?q=agent%3Asupport+destructive')
    const mark = page.locator('.runs tr.run mark').first()
    await mark.waitFor()
    expect(await mark.innerText()).toBe('Destructive')
    expect(await page.locator('.runs tr.run .preview').first().innerText()).toContain('SQL is not allowed')
    expect(await findFlaws(page)).toEqual([])
    await page.screenshot({ path: `${SHOTS}list-found.png` })
    await page.locator('.runs tr.run a').first().click()
    await page.waitForURL(/find=destructive/)
    expect(page.url()).toContain(SAMPLE_TRACE)
    const field = page.getByRole('searchbox', { name: 'Search in this run' })
    expect(await field.inputValue()).toBe('destructive')
    await expect.poll(() => page.locator('.found').innerText()).toMatch(/^[1-9]\d* of /)
    await page.keyboard.press('n')
    await page.locator('.row[aria-selected="true"]').waitFor()
    expect(problems).toEqual([])
    await page.close()
  })
})
