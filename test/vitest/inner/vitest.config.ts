import { defineConfig } from 'vitest/config'
import outer from '../../../vitest.config.ts'

export default defineConfig({
  resolve: (outer as { resolve: object }).resolve,
  test: {
    include: ['test/vitest/inner/*.inner.ts'],
    reporters: ['default', ['json', { outputFile: process.env.INNER_REPORT }], 'hookspan/vitest-reporter'],
  },
})
