/**
 * What every backend needs beside its own file: the name by MAC (udev), and the kernel settings of the device.
 *
 * Pure.
 */
import type { WantedNic } from '../desired.ts'

/** udev takes the first file that matches; 05 sorts before those of Netplan and of the system. */
export function linkFile(nic: WantedNic): string {
  return [
    '[Match]',
    `MACAddress=${nic.mac}`,
    'Type=ether',
    '',
    '[Link]',
    `Name=${nic.name}`,
    ...(nic.altname ? [`AlternativeName=${nic.altname}`] : []),
    ...(nic.mtu === undefined ? [] : [`MTUBytes=${nic.mtu}`]),
    '',
  ].join('\n')
}

export function sysctlFile(nic: WantedNic): string {
  const lines = Object.entries(nic.sysctls).map(([key, value]) => `${settingOf(nic.name, key)}${value}`)
  return `${lines.join('\n')}\n`
}

/** Reports whether a file of ours, of the device with this name, sets the key. */
export function setsKey(text: string, name: string, key: string): boolean {
  return text.includes(settingOf(name, key))
}

/** The device may be absent while the machine boots; `-` keeps that from being an error. */
function settingOf(name: string, key: string): string {
  const [family, setting] = key.split('.')
  return `-net.${family}.conf.${name}.${setting} = `
}
