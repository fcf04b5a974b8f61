/**
 * Files of one NIC that every backend needs: the udev .link file and rule with the name, and the sysctls.
 *
 * Pure.
 */
import type { DesiredNic } from '../state/desired-nic.ts'

/** Set by our rule, matched by our .link file. */
const property = 'MULTINIC'

/**
 * udev uses the first file that matches; 05 sorts before the files of Netplan and of the system. It applies the file again
 * whenever someone renames the link, so the file has no MTU: the network manager sets it. The altnames are those that
 * udev's default file gives the NIC, as long as multinic does not manage it.
 *
 * `byRule`: only with our rule. A copy of both in an initramfs outlives the removal of the NIC, and must not match there.
 */
export function linkFile(nic: DesiredNic): string {
  return [
    '[Match]',
    `MACAddress=${nic.macAddress}`,
    'Type=ether',
    `Property=${property}=${nic.name}`,
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
 *
 * Not in an initramfs: initramfs-tools copies the rule to another directory, and dracut writes initrd-release.
 */
export function udevRule(nic: DesiredNic): string {
  const nicKeys = ['SUBSYSTEM=="net"', `ATTR{address}=="${nic.macAddress}"`, 'ENV{DEVTYPE}==""']
  const systemKeys = [`TEST=="/etc/udev/rules.d/05-${nic.name}.rules"`, 'TEST!="/etc/initrd-release"']
  return [[`ENV{${property}}="${nic.name}"`], ['ACTION=="add"', `NAME:="${nic.name}"`]]
    .map(keys => `${[...nicKeys, ...systemKeys, ...keys].join(', ')}\n`)
    .join('')
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
