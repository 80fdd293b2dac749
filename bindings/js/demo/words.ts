/** Text made from names and numbers. */

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** A number of bytes with a unit, in powers of 1000. */
export function size(bytes: number): string {
    let unit = 0;
    for (; bytes >= 999.5 && unit < UNITS.length - 1; unit++) bytes /= 1000;
    if (unit === 0) return bytes === 1 ? '1 byte' : `${bytes.toFixed(0)} bytes`;
    return `${bytes.toFixed(bytes < 9.95 ? 1 : 0)} ${UNITS[unit]}`;
}

/** A name as text: without characters that cannot be seen or change the order of others. */
export function shown(name: string): string {
    return name.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');
}

/** Time that is left, rounded up. */
export function timeLeft(seconds: number): string {
    if (seconds <= 5) return 'a few seconds left';
    if (seconds <= 55) return `about ${5 * Math.ceil(seconds / 5)} seconds left`;
    const minutes = Math.ceil(seconds / 60);
    if (minutes < 100) return `about ${minutes} minute${minutes === 1 ? '' : 's'} left`;
    return `about ${Math.ceil(minutes / 60)} hours left`;
}

/** A number of files. */
export const count = (files: number) => (files === 1 ? '1 file' : `${files} files`);

/** A name without what browsers do not save in a name. */
export function savedName(name: string): string {
    return name.replace(/[\\/:*?"<>|\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|^~/gu, '_');
}

/** The name of the result. In a folder it may begin with a dot, as no download can. */
export function resultName(name: string, open: boolean, inFolder: boolean): string {
    let result = `${name}.pld`;
    if (open) result = /.\.pld$/i.test(name) ? name.slice(0, -4) : `${name}.decrypted`;
    const saved = savedName(result).replace(inFolder ? /^\.+$/ : /^\.+/, '');
    return saved === '' ? 'decrypted' : saved;
}

/** A text quoted for a shell. */
const quotedText = (text: string) =>
    /^[\w.,@%+=:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A name quoted for a shell. */
export const quoted = (name: string) => quotedText(name.startsWith('-') ? `./${name}` : name);

/** The command that decrypts files: those in a folder, one with its name, or several. */
export function command(
    results: string[],
    folder: string | undefined,
    plain: string | undefined,
    keyFile: string | undefined,
    place: string,
): string {
    const secret =
        (keyFile === undefined ? '-p' : `-k ${quoted(keyFile)}`) +
        (place === '' ? '' : ` --bind=${quotedText(place)}`);
    let what = results.map(quoted).join(' ');
    if (plain !== undefined) what = `-o ${quoted(plain)} ${what}`;
    else if (folder !== undefined) what = `--recursive -o decrypted ${quoted(folder)}`;
    // The browser gives numbers to names that are there twice.
    else if (results.length > 20 || new Set(results).size < results.length) what = '*.pld';
    return `palladion decrypt ${secret} ${what}`;
}

/** What to do with files that the command has bound to their paths. */
export const EACH_BOUND =
    'Files that “palladion encrypt --bind-to-path” made are each bound to their own path. ' +
    'Decrypt them one at a time here, with a place such as “2026/january.txt.pld”, the path ' +
    'below their folder, or all at once with “palladion decrypt --recursive FOLDER -o ' +
    'decrypted --bind-to-path” in a terminal.';

/** A message of the library as a sentence. */
export function sentence(text: string): string {
    const whole = text.charAt(0).toUpperCase() + text.slice(1);
    return /[.?!]$/.test(whole) ? whole : `${whole}.`;
}

const CONSONANTS = 'bdfghjklmnprstvz';
const VOWELS = 'aiou';

/** Words that can be spoken, one for each number of 16 bits: the proquints of arXiv:0901.4016. */
export function spoken(numbers: Uint16Array): string {
    const word = (number: number) =>
        CONSONANTS[number >> 12]! +
        VOWELS[(number >> 10) & 3]! +
        CONSONANTS[(number >> 6) & 15]! +
        VOWELS[(number >> 4) & 3]! +
        CONSONANTS[number & 15]!;
    return Array.from(numbers, word).join('-');
}
