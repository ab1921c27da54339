/**
 * For `node --import`: the ports of HOOKSPAN_DOCS_PORTS (`{"4318":41003}`) are others, so that commands of the pages run beside
 * whoever has them, and on whichever host the page says they are this machine's.
 */
import net from 'node:net'

const ports = JSON.parse(process.env.HOOKSPAN_DOCS_PORTS ?? '{}')
const instead = (options) =>
  typeof options === 'object' && options !== null && options.path == null && options.port in ports
    ? { ...options, port: ports[options.port], host: '127.0.0.1' }
    : options

const { listen } = net.Server.prototype
net.Server.prototype.listen = function (first, ...rest) {
  return listen.call(this, typeof first === 'object' ? instead(first) : (ports[first] ?? first), ...rest)
}

const { connect } = net.Socket.prototype
net.Socket.prototype.connect = function (...args) {
  // `net.connect` hands over what it has read of its arguments as a list with a mark on it, which has to stay.
  if (Array.isArray(args[0])) args[0][0] = instead(args[0][0])
  else args[0] = instead(args[0])
  return connect.apply(this, args)
}
