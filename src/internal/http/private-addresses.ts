import { BlockList, isIP } from 'node:net'

const V4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const

/** Among them what carries an IPv4 address inside: mapped, translated, 6to4 and Teredo addresses. */
const V6 = [
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const

const v4 = new BlockList()
for (const [address, prefix] of V4) v4.addSubnet(address, prefix, 'ipv4')
const v6 = new BlockList()
for (const [address, prefix] of V6) v6.addSubnet(address, prefix, 'ipv6')

/** Whether an address leads anywhere else than to the public internet. What is no address counts as private. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.split('%')[0] as string
  const family = isIP(plain)
  if (family === 4) return v4.check(plain, 'ipv4')
  if (family !== 6) return true
  return isMapped(plain) || v6.check(plain, 'ipv6')
}

/** `::ffff:a.b.c.d`: no resolver has a reason to give one, so that it is refused whatever it holds. */
function isMapped(address: string): boolean {
  return new URL(`http://[${address}]/`).hostname.startsWith('[::ffff:')
}
