package pldage_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/palladion/palladion/bindings/go/pld"
	"github.com/palladion/palladion/bindings/go/pldage"
)

// must returns the value, and panics on an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func seal(secret pld.Secret) ([]byte, error) {
	var file bytes.Buffer
	w, err := pld.NewWriter(&file, secret, &pld.WriterOptions{ChunkSize: 1024})
	if err != nil {
		return nil, err
	}
	must(w.Write(bytes.Repeat([]byte("text"), 1000)))
	err = w.Close()
	return file.Bytes(), err
}

// read reads a file from its start, and at any offset.
func read(file []byte, secret pld.Secret) error {
	r, err := pld.NewReader(bytes.NewReader(file), secret, nil)
	_, err2 := pld.NewFile(bytes.NewReader(file), int64(len(file)), secret, nil)
	if fmt.Sprint(err) != fmt.Sprint(err2) {
		return fmt.Errorf("%w, but at any offset: %w", err, err2)
	} else if err != nil {
		return err
	}
	text, err := io.ReadAll(r)
	if len(text) != 4000 {
		return errors.Join(err, errors.New("another text"))
	}
	return errors.Join(err, r.CheckSpare())
}

func TestRecipients(t *testing.T) {
	one, two := must(age.GenerateX25519Identity()), must(age.GenerateX25519Identity())
	safe, other := must(age.GenerateHybridIdentity()), must(age.GenerateHybridIdentity())
	safes, key := []age.Recipient{safe.Recipient()}, pld.NewKey()
	for what, test := range map[string]struct {
		to   pld.Secret
		open []pld.Secret
		not  []pld.Secret
	}{
		"two": {
			pldage.Recipients(one.Recipient(), two.Recipient()),
			[]pld.Secret{pldage.Identities(one), pldage.Identities(safe, two),
				pld.AnyOf(key, pldage.Identities(two)), pld.Slots(key, pldage.Identities(one))},
			[]pld.Secret{pldage.Identities(safe), pldage.Identities(), pld.Slots(key),
				pldage.Recipients(one.Recipient())},
		},
		"hybrid, in two slots": {
			pld.Slots(pldage.Recipients(safe.Recipient()), key, pldage.Recipients(other.Recipient())),
			[]pld.Secret{pldage.Identities(safe), pldage.Identities(other), pld.Slots(key)},
			[]pld.Secret{pldage.Identities(one, two), pld.Slots(pld.NewKey())},
		},
		"identities": {
			pld.Slots(pldage.Identities(one, two)),
			[]pld.Secret{pldage.Identities(one), pldage.Identities(two)},
			[]pld.Secret{pldage.Identities(other)},
		},
	} {
		file := must(seal(test.to))
		for i, secret := range test.open {
			if err := read(file, secret); err != nil {
				t.Errorf("%s, %d: %v", what, i, err)
			}
		}
		for i, secret := range test.not {
			if err := read(file, secret); !errors.Is(err, pld.ErrWrongKey) {
				t.Errorf("%s, not %d: %v", what, i, err)
			}
		}
	}
	for what, secret := range map[string]pld.Secret{
		"mixed":             pldage.Recipients(one.Recipient(), safe.Recipient()),
		"mixed in two":      pld.Slots(pldage.Identities(one), pldage.Identities(safe)),
		"none":              pldage.Recipients(),
		"no identity":       pldage.Identities(),
		"a passphrase":      pldage.Recipients(must(age.NewScryptRecipient("x"))),
		"another's":         pldage.Identities(must(age.NewScryptIdentity("x"))),
		"too many":          pldage.Recipients(slices.Repeat(safes, 43)...),
		"too many in slots": pld.Slots(slices.Repeat([]pld.Secret{pldage.Identities(one)}, 9)...),
	} {
		if _, err := seal(secret); err == nil {
			t.Errorf("no error: %s", what)
		}
	}
	many := must(seal(pldage.Recipients(slices.Repeat(safes, 42)...)))
	if err := read(many, pldage.Identities(safe)); err != nil {
		t.Error(err)
	}
}

// TestOtherPlaintexts has slots of age whose plaintext is no key.
func TestOtherPlaintexts(t *testing.T) {
	id := must(age.GenerateX25519Identity())
	for _, length := range []int{0, 31, 32, 33, 5000} {
		lock := func([]byte) ([]byte, error) {
			var file bytes.Buffer
			w := must(age.Encrypt(&file, id.Recipient()))
			must(w.Write(make([]byte, length)))
			err := w.Close()
			return file.Bytes(), err
		}
		file := must(seal(pld.Slots(pld.AgeSlot(lock, nil), pldage.Identities(id))))
		if err := read(file, pldage.Identities(id)); err != nil {
			t.Errorf("%d bytes in the first slot: %v", length, err)
		}
		file = must(seal(pld.AgeSlot(lock, nil)))
		if err := read(file, pldage.Identities(id)); !errors.Is(err, pld.ErrWrongKey) {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
	armored := pld.AgeSlot(func(fileKey []byte) ([]byte, error) {
		var file bytes.Buffer
		a := armor.NewWriter(&file)
		w := must(age.Encrypt(a, id.Recipient()))
		must(w.Write(fileKey))
		err := errors.Join(w.Close(), a.Close())
		return file.Bytes(), err
	}, nil)
	if _, err := seal(armored); err == nil {
		t.Error("no error: an armored file")
	}
}

// TestSlotIsAnAgeFile cuts the slot out, as docs/file-format.md says where it is.
func TestSlotIsAnAgeFile(t *testing.T) {
	id := must(age.GenerateX25519Identity())
	file := must(seal(pldage.Identities(id)))
	slot := file[144:]
	slot = slot[4 : 4+binary.LittleEndian.Uint16(slot[2:])]
	r := must(age.Decrypt(bytes.NewReader(slot), id))
	if fileKey := must(io.ReadAll(r)); file[144] != 3 || len(fileKey) != 32 || len(slot) != 232 {
		t.Error(len(fileKey), len(slot))
	}
}

// TestCommand changes the slots of a file with the command, whose path is in PALLADION_COMMAND.
func TestCommand(t *testing.T) {
	command := os.Getenv("PALLADION_COMMAND")
	if command == "" {
		t.Skip("PALLADION_COMMAND is not set")
	}
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	key, id := pld.NewKey(), must(age.GenerateHybridIdentity())
	file := must(seal(pld.Slots(key, pldage.Identities(id))))
	err := errors.Join(pld.WriteKeyFile(path("key"), key), os.WriteFile(path("file"), file, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{"keygen -o other", "rewrap -k key --add --to-key other file",
		"decrypt -k other -o text file"} {
		c := exec.Command(command, strings.Fields(arguments)...)
		c.Dir = folder
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", arguments, err, out)
		}
	}
	if text := must(os.ReadFile(path("text"))); len(text) != 4000 {
		t.Error("another text")
	}
	if err := read(must(os.ReadFile(path("file"))), pldage.Identities(id)); err != nil {
		t.Error(err)
	}
}

func Example() {
	alice, err := age.GenerateHybridIdentity() // or age.ParseIdentities(file)
	if err != nil {
		panic(err)
	}

	var file bytes.Buffer
	w, err := pld.NewWriter(&file, pldage.Recipients(alice.Recipient()), nil)
	if err != nil {
		panic(err)
	}
	io.WriteString(w, "remember the milk")
	if err := w.Close(); err != nil {
		panic(err)
	}

	r, err := pld.NewReader(&file, pldage.Identities(alice), nil)
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(r)
	fmt.Printf("%s %v\n", text, err)
	// Output: remember the milk <nil>
}
