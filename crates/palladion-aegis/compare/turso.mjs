// Writes or reads the same databases as turso.rs with Turso's npm package, a megabyte of each.
//
//     node turso.mjs write|read FOLDER CIPHER...

import assert from "node:assert/strict";
import { connect } from "@tursodatabase/database";

const ROW = 3900;
const ROWS = Math.floor(1e6 / ROW);

function row(id) {
    const wrap = (number) => BigInt.asUintN(64, number);
    const words = new BigUint64Array(Math.ceil(ROW / 8));
    for (let i = 0n, state = BigInt(id); i < words.length; i++) {
        state = wrap(state + 0x9e3779b97f4a7c15n);
        const z = wrap((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
        words[i] = z ^ (z >> 27n);
    }
    return Buffer.from(words.buffer, 0, ROW);
}

const [what, folder, ...ciphers] = process.argv.slice(2);
for (const cipher of ciphers) {
    const hexkey = "5a".repeat(cipher.startsWith("aegis128") ? 16 : 32);
    const encrypted = { encryption: { cipher, hexkey }, experimental: ["encryption"] };
    const options = cipher === "none" ? {} : encrypted;
    const db = await connect(`${folder}/${cipher}.db`, options);
    if (what === "write") {
        await db.exec("CREATE TABLE pages (id INTEGER PRIMARY KEY, data BLOB)");
        const insert = await db.prepare("INSERT INTO pages VALUES (?, ?)");
        for (let id = 0; id < ROWS; id++) await insert.run(id, row(id));
        await db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } else {
        const rows = await (await db.prepare("SELECT id, data FROM pages ORDER BY id")).all();
        assert.equal(rows.length, ROWS);
        rows.forEach(({ id, data }, i) => {
            assert.equal(id, i);
            assert.deepEqual(Buffer.from(data), row(i));
        });
    }
    await db.close();
    console.log(`${what} ${cipher}`);
}
