import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

/** What a test may have asked to be told of, or have decided, about a page. */
const HEARD = ['pageerror', 'console', 'requestfailed', 'request', 'response', 'dialog'] as const

/**
 * Lets what was closed be used again: a new window starts three processes and takes three seconds of the processor, a page in one
 * that is there a third of that. Who gets one finds nothing in it of who had it before. Not those of `newContext()`, which has
 * what is asked of it for as long as it lives.
 */
export function reusing(browser: Browser): Browser {
  const idle: Page[] = []
  const open = browser.newPage.bind(browser)
  browser.newPage = async ({ viewport, colorScheme, ...more }: BrowserContextOptions = {}) => {
    if (Object.keys(more).length > 0) return open({ viewport, colorScheme, ...more } as BrowserContextOptions)
    const page = idle.pop() ?? mended(await open(), idle)
    await page.setViewportSize(viewport ?? { width: 1280, height: 720 })
    await page.emulateMedia({ media: null, colorScheme: colorScheme ?? 'light' })
    return page
  }
  return browser
}

/** Its `close()`, and that of its context, give it back. */
function mended(page: Page, idle: Page[]): Page {
  const context = page.context()
  const closing: Record<'page' | 'context', () => Promise<void>> = {
    page: page.close.bind(page),
    context: context.close.bind(context),
  }
  const giveBack = async () => {
    if (idle.includes(page)) return
    if (await isEmptied(page, context)) idle.push(page)
    else await closing.context()
  }
  page.close = giveBack
  context.close = giveBack
  return page
}

async function isEmptied(page: Page, context: BrowserContext): Promise<boolean> {
  if (page.isClosed() || context.pages().length > 1) return false
  try {
    for (const event of HEARD) page.removeAllListeners(event)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    if (page.url().startsWith('http')) {
      const origin = await page.evaluate(() => {
        sessionStorage.clear()
        return location.origin
      })
      await page.goto('about:blank')
      const devtools = await context.newCDPSession(page)
      await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
      await devtools.detach()
    }
    await context.clearCookies()
    return true
  } catch {
    return false
  }
}
