#!/usr/bin/env node
import { createProgram } from './program.ts'

try {
  await createProgram().parseAsync()
} catch (error) {
  process.stderr.write(`hookspan: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
