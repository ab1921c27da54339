import { Worker } from 'node:worker_threads'

const file = new URL('../run-tools.mjs', import.meta.url)
const script = `var named = 1
const { sep } = require('node:path')
if (this !== globalThis || globalThis.named !== 1 || process.argv[1] !== '[worker eval]' || sep === '') process.exit(7)
import(${JSON.stringify(file.href)})`
const module = `import ${JSON.stringify(file.href)}`
const { NODE_OPTIONS: _, ...env } = process.env
const [code, options] = {
  script: [script, { eval: true }],
  module: [module, { eval: true, env, execArgv: [] }],
  typed: [module, { eval: true, execArgv: ['--input-type=module'] }],
  options: [file, { execArgv: [] }],
  environment: [file, { env }],
  both: [file, { env, execArgv: ['--no-warnings'] }],
}[process.argv[2]]

new Worker(code, options).on('exit', (code) => process.exit(code))
