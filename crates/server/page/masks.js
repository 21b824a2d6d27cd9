// Characters in a question that could deceive its reader: hidden ones, spaces that are not ASCII,
// letters that look like Latin ones, and gaps that push text out of sight. The terminal does the same.

const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cn}\p{Co}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\uffff]/gu;
const SPACE = /(?![ \n\t])\p{White_Space}/gu;
const FOREIGN = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\uff02-\uff5e]/gu;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const WIDE_GAP = /\S[^\S\n]{20,}(?=\S)/u;

const escape = character => `\\u{${character.codePointAt(0).toString(16)}}`;
const mixed = word => /[A-Za-z]/.test(word);

/** The text with each such character replaced by its visible escape. */
export function unmasked(text) {
  return String(text ?? '')
    .replace(WORD, word => (mixed(word) ? word.replace(FOREIGN, escape) : word))
    .replace(HIDDEN, escape)
    .replace(SPACE, escape);
}

export const oneLine = text => unmasked(text).replaceAll('\n', '\\u{a}').replaceAll('\t', '\\u{9}');

/** Sentences about that, for below the text. */
export function cautions(text) {
  const whole = String(text ?? '');
  const found = [];
  const hidden = (whole.match(HIDDEN)?.length ?? 0) + (whole.match(SPACE)?.length ?? 0);
  if (hidden) found.push(`Hidden characters or unusual spaces are shown as \\u{…}: ${hidden}`);
  const alike = (whole.match(WORD) ?? []).filter(mixed).reduce((sum, word) => sum + (word.match(FOREIGN)?.length ?? 0), 0);
  if (alike) found.push(`Letters that look like others are shown as \\u{…}: ${alike}`);
  if (WIDE_GAP.test(whole)) found.push('More text follows after a wide gap');
  return found;
}
