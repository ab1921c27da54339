import Anthropic from '@anthropic-ai/sdk'
import { EnvironmentWorker } from '@anthropic-ai/sdk/helpers/beta/environments'

new EnvironmentWorker({ client: new Anthropic({ apiKey: 'none' }), tools: [] })
console.log('made')
