import { plan } from './model.mjs'

const say = (text) => {
  console.log('real tool:', text)
  return text
}
const tools = {
  find_order: ({ id }) => say(`order ${id} is shipped`),
  drop_table: ({ name }) => say(`${name} is gone`),
}
for (const call of plan('Where is order 7? Then drop the table.')) {
  console.log(await tools[call.name](call.args))
}
