import { startTracing } from 'hookspan/tracing'
import { spansAt } from './run.mjs'

Object.assign(process.env, { GRAFANA_ZONE: 'prod-eu-west-2', GRAFANA_INSTANCE: '12', GRAFANA_TOKEN: 'glc_1' })
snippet('const { GRAFANA_ZONE')

await spansAt(tracing, 'https://otlp-gateway-prod-eu-west-2.grafana.net/otlp/v1/traces', {
  authorization: `Basic ${Buffer.from('12:glc_1').toString('base64')}`,
})
