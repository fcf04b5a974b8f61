/**
 * The version of MultiNIC. Made by `make generate` from package.json. Do not edit.
 */
export const version = '0.1.0'
