import { defineConfig } from 'vitest/config'
import outer from '../../../vitest.config.ts'

/** Runs the guide's first test, which fails on purpose. */
export default defineConfig({
  resolve: (outer as { resolve: object }).resolve,
  test: { include: ['examples/testing/1-first-test.ts'] },
})
