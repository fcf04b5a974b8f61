/**
 * What every backend needs beside its own file: the name by MAC (udev), and the kernel settings of the device.
 *
 * Pure.
 */
import type { WantedNic } from '../wanted.ts'

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
  const lines = Object.entries(nic.sysctls).map(([key, value]) => {
    const [family, setting] = key.split('.')
    // The device may be absent while the machine boots; `-` keeps that from being an error.
    return `-net.${family}.conf.${nic.name}.${setting} = ${value}`
  })
  return `${lines.join('\n')}\n`
}
