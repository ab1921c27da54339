process.on('SIGTERM', () => {
  console.log('heard')
  process.exit(process.argv[2] === undefined ? 5 : Number(process.argv[2]))
})
console.log('ready')
setInterval(() => {}, 1_000)
