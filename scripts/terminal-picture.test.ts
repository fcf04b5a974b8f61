import assert from 'node:assert/strict'
import { test } from 'node:test'
import { terminalSvg, textOfSvg } from './terminal-picture.ts'

test('the terminal picture shows every line as text, with its colours', () => {
  const svg = terminalSvg('$ multinic status\n\n├─ \u001b[31mFailed\u001b[0m  <none> & "more"\n', 'status')
  assert.match(svg, /viewBox="0 0 255 96"/)
  assert.match(svg, /y="33" textLength="142.8" xml:space="preserve">\$ multinic status<\/text>/)
  assert.match(svg, />├─ <tspan class="bad">Failed<\/tspan> {2}&lt;none> &amp; &quot;more&quot;<\/text>/)
})

test('the text of a picture is that of the terminal without colours and empty lines', () => {
  const output = '$ multinic status\n\n├─ \u001b[31mFailed\u001b[0m  <none> & "more &lt;"\n'
  assert.equal(textOfSvg(terminalSvg(output, 'status')), '$ multinic status\n├─ Failed  <none> & "more &lt;"')
})
