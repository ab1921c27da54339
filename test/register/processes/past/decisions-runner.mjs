import { DecisionsToolRunner } from 'openai/helpers/decisions-tool-runner'

new DecisionsToolRunner({ observe: () => 'dust', candidates: () => [] })
console.log('made')
