/**
 * Names and labels of what Viola makes: those of the contract.
 */
export { labelsOf, labelValue, objectName } from '../contract/node-names.ts'
