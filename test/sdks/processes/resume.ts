// The second part of a run that was parked, in a process that knows nothing of the first but its JSON.
import { resumeElsewhere } from 'hookspan/adapter/contract'
import { mastraSubject } from '../subjects/mastra.ts'

const subject = [mastraSubject].find(({ name }) => name === process.argv[2])
if (subject === undefined) throw new Error(`no subject ${process.argv[2]}`)
let saved = ''
for await (const chunk of process.stdin) saved += chunk
process.stdout.write(await resumeElsewhere(subject, saved))
