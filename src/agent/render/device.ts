/**
 * Files of one NIC that every backend needs: the udev .link file and rule with the name, and the sysctls.
 *
 * Pure.
 */
import type { DesiredNic } from '../desired.ts'

/**
 * udev uses the first file that matches; 05 sorts before the files of Netplan and of the system. It applies the file again
 * whenever someone renames the link, so the file has no MTU: the network manager sets it. The altnames are those that
 * udev's default file gives the NIC, as long as multinic does not manage it.
 */
export function linkFile(nic: DesiredNic): string {
  return [
    '[Match]',
    `MACAddress=${nic.macAddress}`,
    'Type=ether',
    '',
    '[Link]',
    `Name=${nic.name}`,
    ...(nic.altname ? [`AlternativeName=${nic.altname}`] : []),
    `AlternativeNamesPolicy=database onboard slot path${nic.macAltname ? ' mac' : ''}`,
    '',
  ].join('\n')
}

/**
 * The name by a udev rule, finally (`:=`): a rule of Netplan or cloud-init for the same NIC would override the .link file.
 * Devices on top of the NIC have its MAC address too, but also a type.
 */
export function udevRule(nic: DesiredNic): string {
  const matches = ['SUBSYSTEM=="net"', 'ACTION=="add"', `ATTR{address}=="${nic.macAddress}"`, 'ENV{DEVTYPE}==""']
  return `${[...matches, `NAME:="${nic.name}"`].join(', ')}\n`
}

export function sysctlFile(nic: DesiredNic): string {
  const lines = Object.entries(nic.sysctls).map(([key, value]) => `${settingOf(nic.name, key)}${value}`)
  return `${lines.join('\n')}\n`
}

/** Reports whether the text of our file for this device sets the key. */
export function setsKey(text: string, name: string, key: string): boolean {
  return text.includes(settingOf(name, key))
}

/** `-`: no error if the device does not exist yet while the machine boots. */
function settingOf(name: string, key: string): string {
  const [family, setting] = key.split('.')
  return `-net.${family}.conf.${name}.${setting} = `
}
