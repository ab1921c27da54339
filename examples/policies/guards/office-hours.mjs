// A guard in any language: reads the question as JSON, writes the decision as JSON, ends with exit code 0.
const chunks = []
for await (const chunk of process.stdin) chunks.push(chunk)
const { payload } = JSON.parse(Buffer.concat(chunks).toString())

const hour = payload?.hour ?? new Date().getHours()
const decision =
  hour >= 8 && hour < 18
    ? { decision: 'proceed' }
    : { decision: 'deny', code: 'office_hours', reason: 'call between 8 and 18' }
process.stdout.write(JSON.stringify(decision))
