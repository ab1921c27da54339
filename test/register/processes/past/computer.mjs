import { ResponsesToolRunner } from 'openai/helpers/responses-tool-runner'

new ResponsesToolRunner({ computer: {} })
console.log('made')
