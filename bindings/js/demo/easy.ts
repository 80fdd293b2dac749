/**
 * Finds passphrases that are easy to guess: what guessing programs try first. It does not say which
 * ones are good. Estimators with dictionaries do, but zxcvbn has 820 kB and zxcvbn-ts 1.7
 * MB, as much as this page or more.
 */

/** Words that many leaked passwords consist of, names of days, months and seasons, and dates. */
const WORDS = new RegExp(
    'pass(?:word|wort|phrase)?|welcome|letmein|i?loveyou|changeme|default|secret|access|master|' +
        'login|admin(?:istrator)?|root|user|guest|test|hello|hallo|love|princess|sunshine|' +
        'superman|batman|pokemon|starwars|monkey|dragon|shadow|football|baseball|soccer|hockey|' +
        'michael|jordan|jennifer|daniel|charlie|computer|internet|samsung|google|facebook|' +
        'whatever|trustno|freedom|flower|cheese|killer|spring|summer|autumn|winter|' +
        '(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|' +
        'august|(?:septem|octo|novem|decem)ber|correct.?horse.?battery.?staple|' +
        '1qaz2wsx|1q2w3e4r(?:5t)?|q1w2e3r4|zaq12wsx|qazwsx|' +
        '\\d{1,4}[-./]\\d\\d?[-./]\\d{1,4}|(?:19|20)\\d\\d',
    'y',
);
/** Neighbours on a keyboard, in an alphabet or among the digits. */
const ROWS =
    'qwertyuiop asdfghjkl zxcvbnm qwertzuiop yxcvbnm azertyuiop ' +
    'abcdefghijklmnopqrstuvwxyz 01234567890';
const BACKWARDS = [...ROWS].reverse().join('');

const DISGUISES: Record<string, string> = {
    '@': 'a', '4': 'a', '3': 'e', '1': 'i', '!': 'i', '0': 'o', $: 's', '5': 's', '7': 't',
};

/** The length of the word, or of the row or the repeated character, at a place; or 1. */
function piece(text: string, at: number): number {
    const undisguised = text.replace(/[@431!0$57]/g, (sign) => DISGUISES[sign]!);
    const words = [text, undisguised].map((spelling) => {
        WORDS.lastIndex = at;
        return WORDS.exec(spelling)?.[0].length ?? 0;
    });
    if (Math.max(...words) > 0) return Math.max(...words);
    let end = at + 1;
    const goesOn = (run: string) =>
        ROWS.includes(run) || BACKWARDS.includes(run) || run === run[0]!.repeat(run.length);
    while (end < text.length && goesOn(text.slice(at, end + 1))) end++;
    return end - at < 3 ? 1 : end - at;
}

/** Returns whether fewer than some 2^30 guesses find a passphrase, as they find all 9 digits. */
export function isEasy(passphrase: string): boolean {
    if (new Set(passphrase).size < 4) return true;
    if (passphrase.length > 64) return false;
    let text = passphrase.toLowerCase();
    let bits = passphrase.match(/\p{Lu}/gu)?.length ?? 0;
    const period = (text + text).indexOf(text, 1);
    if (period < text.length) bits += 4; // for the number of times
    text = text.slice(0, period);
    for (let at = 0; at < text.length && bits < 30; ) {
        const length = piece(text, at);
        if (length > 1) bits += /^\d+[-./]/.test(text.slice(at, at + length)) ? 16 : 9;
        else bits += /\d/.test(text[at]!) ? 3.3 : /[a-z]/.test(text[at]!) ? 4.7 : 6;
        at += length;
    }
    return bits < 30;
}
