// Runs a program and ends it when our standard input closes, so that it never outlives the test process,
// however that one dies. Arguments: what to run on the end ('' for nothing more than a kill), then the program.
const { spawn, spawnSync } = require('node:child_process')

const [cleanup, command, ...args] = process.argv.slice(2)
const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
child.on('error', (error) => {
  console.error(String(error))
  process.exit(127)
})
child.on('exit', (code) => process.exit(code ?? 1))
process.stdin.resume().on('end', () => {
  child.kill('SIGKILL')
  if (cleanup) {
    const [program, ...rest] = JSON.parse(cleanup)
    spawnSync(program, rest, { stdio: 'ignore', timeout: 20_000 })
  }
})
