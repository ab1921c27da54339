const { ToolNode } = require('@langchain/langgraph/prebuilt')

class Mine extends ToolNode {}
console.log(new Mine([]) instanceof ToolNode ? 'made' : 'of another class')
